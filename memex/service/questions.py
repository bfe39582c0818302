"""From a search as a caller writes it to the ranking that answers it."""

from datetime import datetime
from typing import TypedDict, TypeVar

from memex.embedder import Embedder
from memex.embedder.models import Card
from memex.errors import SettingsInvalid, Unavailable
from memex.index import tokenize
from memex.model import (
    Condition,
    Filters,
    MemoryType,
    Mode,
    Question,
    Ranking,
    Scope,
    SpaceState,
    conditions_of,
    microseconds,
)
from memex.settings import Ranking as Defaults

T = TypeVar("T")

NO_FILTERS = Filters()
# Between floor and ceiling: more than rounding, and no infinity or NaN.
LEAST, MOST = 1e-6, 1e6


class Questions:
    """Fills in the defaults, embeds the text and splits it into terms."""

    def __init__(self, embedder: Embedder, defaults: Defaults) -> None:
        """`defaults` fill what a query leaves open. Raises SettingsInvalid."""
        card = embedder.card
        self._embedder = embedder
        self.model_id = card.id
        self._defaults = defaults
        self._floor, self._ceiling = similarity(card, defaults)

    async def ranking(self, scope: Scope, query: Question, now: int) -> Ranking:
        """The ranking of `query`; `now` is in microseconds since 1970. Raises Unavailable."""
        defaults, filters = self._defaults, query.filters or NO_FILTERS
        keyword = query.mode is Mode.KEYWORD
        return Ranking(
            scope=scope,
            mode=query.mode,
            vector=None if keyword else await self._embedder.query(query.query, scope.tenant_id),
            terms=tokenize(query.query),
            k=given(query.top_k, defaults.top_k),
            alpha=given(query.alpha, defaults.alpha),
            half_life_days=given(query.half_life_days, defaults.half_life_days),
            importance_weight=given(query.importance_weight, defaults.importance_weight),
            floor=self._floor,
            ceiling=self._ceiling,
            min_score=query.min_score,
            now=now,
            collapse=query.collapse,
            include_archived=query.include_archived,
            types=types(query.memory_type, filters),
            **conditions(filters),
        )

    def checked(self, state: SpaceState) -> SpaceState:
        """The same state. Raises Unavailable where the stored vectors are of another model than questions are."""
        if state.model_id != self.model_id:
            raise Unavailable("The stored memories have moved to another embedding model: restart memex with that one.")
        return state


def similarity(card: Card, defaults: Defaults) -> tuple[float, float]:
    """The cosines that count as 0 and as 1: set, or the model's own. Raises SettingsInvalid if they leave no room."""
    floor, ceiling = given(defaults.similarity_floor, card.floor), given(defaults.similarity_ceiling, card.ceiling)
    if not LEAST <= ceiling - floor <= MOST:
        raise SettingsInvalid(
            f"MEMEX_RANKING_SIMILARITY_FLOOR ({floor}) must be below MEMEX_RANKING_SIMILARITY_CEILING ({ceiling})."
        )
    return floor, ceiling


def given(value: T | None, default: T) -> T:
    """Null and left out mean the default."""
    return default if value is None else value


def types(only: MemoryType | None, filters: Filters) -> tuple[MemoryType, ...] | None:
    """The types that both conditions allow; None is all."""
    if filters.types is None:
        return None if only is None else (only,)
    return tuple(kind for kind in filters.types if only in (None, kind))


class Conditions(TypedDict):
    """The part of a ranking that is filters as they are."""

    created_after: int | None
    created_before: int | None
    tags_any: tuple[str, ...] | None
    tags_all: tuple[str, ...] | None
    session_id: str | None
    source: str | None
    metadata: tuple[Condition, ...]


def conditions(filters: Filters) -> Conditions:
    """In the ranking's own kinds."""
    return Conditions(
        created_after=micros(filters.created_after),
        created_before=micros(filters.created_before),
        tags_any=None if filters.tags_any is None else tuple(filters.tags_any),
        tags_all=None if filters.tags_all is None else tuple(filters.tags_all),
        session_id=filters.session_id,
        source=filters.source,
        metadata=tuple(conditions_of(filters.metadata or {})),
    )


def micros(moment: datetime | None) -> int | None:
    """Microseconds since 1970, exact."""
    return None if moment is None else microseconds(moment)
