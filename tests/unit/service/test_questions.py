"""From a search as it is asked to the ranking that answers it."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memex.embedder import Embedder
from memex.errors import SettingsInvalid, Unavailable
from memex.index import tokenize
from memex.metrics import Metrics
from memex.model import Filters, MemoryType, Mode, SearchQuery, SpaceState
from memex.service import Passages, Questions, scope
from memex.settings import Ranking
from tests.fakes import FakeEncoder

DEFAULTS = Ranking(top_k=7, alpha=0.25, half_life_days=3.0, importance_weight=0.5)
ASKED: dict[str, Any] = {"top_k": 1, "alpha": 0.0, "half_life_days": 0.5, "importance_weight": 0.0}
NOW = 1_760_000_000_000_000


def asked(**fields: Any) -> SearchQuery:
    return SearchQuery(agent_id="ada", user_id="ana", query="green tea", **fields)


def chosen(ranking: Any) -> dict[str, Any]:
    return {name: getattr(ranking, "k" if name == "top_k" else name) for name in ASKED}


async def test_what_is_left_open_or_null_is_the_configured_default(embedder: Embedder):
    questions = Questions(embedder, DEFAULTS)
    configured = {name: getattr(DEFAULTS, name) for name in ASKED}
    for query in (asked(), asked(**dict.fromkeys(ASKED))):
        assert chosen(await questions.ranking(scope("ada"), query, NOW)) == configured
    # Zero is an answer, not something left open.
    assert chosen(await questions.ranking(scope("ada"), asked(**ASKED), NOW)) == ASKED


async def test_the_scope_the_terms_and_the_moment_are_handed_on(embedder: Embedder):
    ranking = await Questions(embedder, DEFAULTS).ranking(scope("ada"), asked(min_score=0.5, collapse=False), NOW)
    assert (ranking.scope, ranking.now, ranking.min_score, ranking.collapse) == (scope("ada"), NOW, 0.5, False)
    assert ranking.terms == tokenize("green tea")


async def test_a_keyword_search_asks_no_model(embedder: Embedder, encoder: FakeEncoder):
    questions = Questions(embedder, DEFAULTS)
    assert (await questions.ranking(scope("ada"), asked(mode=Mode.KEYWORD), NOW)).vector is None
    assert encoder.texts == []
    assert (await questions.ranking(scope("ada"), asked(mode=Mode.SEMANTIC), NOW)).vector is not None
    assert encoder.texts == ["green tea"]


async def test_what_one_tenant_stored_or_asked_is_computed_anew_for_another(embedder: Embedder, encoder: FakeEncoder):
    questions, passages = Questions(embedder, DEFAULTS), Passages(embedder, None, Metrics())
    for tenant in ("a", "a", "b"):
        await questions.ranking(scope("ada", tenant), asked(), NOW)
        await passages.of(scope("ada", tenant), "ana", "white tea", None)
    assert encoder.texts == ["green tea", "white tea"] * 2


async def test_floor_and_ceiling_are_the_models_unless_set(embedder: Embedder):
    card = embedder.card
    for defaults, expected in (
        (Ranking(), (card.floor, card.ceiling)),
        (Ranking(similarity_floor=0.5), (0.5, card.ceiling)),
        (Ranking(similarity_floor=-1.0, similarity_ceiling=0.0), (-1.0, 0.0)),
    ):
        ranking = await Questions(embedder, defaults).ranking(scope("ada"), asked(), NOW)
        assert (ranking.floor, ranking.ceiling) == expected


@pytest.mark.parametrize(
    "defaults",
    [
        Ranking(similarity_floor=1.0),
        Ranking(similarity_ceiling=-0.5),
        Ranking(similarity_floor=math.nan),
        Ranking(similarity_ceiling=math.inf),
    ],
)
def test_a_floor_that_is_not_below_the_ceiling_is_refused_at_the_start(embedder: Embedder, defaults: Ranking):
    with pytest.raises(SettingsInvalid, match="MEMEX_RANKING_SIMILARITY_FLOOR"):
        Questions(embedder, defaults)


EPISODIC, SEMANTIC = MemoryType.EPISODIC, MemoryType.SEMANTIC


@pytest.mark.parametrize(
    ("only", "among", "allowed"),
    [
        (None, None, None),
        (EPISODIC, None, (EPISODIC,)),
        (None, [SEMANTIC, EPISODIC], (SEMANTIC, EPISODIC)),
        (EPISODIC, [SEMANTIC, EPISODIC], (EPISODIC,)),
        (EPISODIC, [SEMANTIC], ()),
    ],
)
async def test_both_conditions_on_the_type_hold(
    embedder: Embedder,
    only: MemoryType | None,
    among: list[MemoryType] | None,
    allowed: tuple[MemoryType, ...] | None,
):
    query = asked(memory_type=only, filters=Filters(types=among))
    assert (await Questions(embedder, DEFAULTS).ranking(scope("ada"), query, NOW)).types == allowed


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2024, 5, 1, 10, 0, 0, 123_457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
)
async def test_times_are_exact_to_the_microsecond(embedder: Embedder, moment: datetime):
    filters = Filters(created_after=moment, created_before=moment)
    ranking = await Questions(embedder, DEFAULTS).ranking(scope("ada"), asked(filters=filters), NOW)
    assert ranking.created_after == ranking.created_before
    assert ranking.created_after is not None
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ranking.created_after) == moment


async def test_vectors_of_another_model_are_never_compared(embedder: Embedder):
    questions = Questions(embedder, DEFAULTS)
    ours = SpaceState(1, 1, 0, embedder.card.id)
    assert questions.checked(ours) is ours
    with pytest.raises(Unavailable, match="another embedding model"):
        questions.checked(SpaceState(1, 1, 0, "another"))
