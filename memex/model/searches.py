"""Searches: what is looked for, and what was found."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memex.model.conditions import Conditions
from memex.model.fields import (
    MAX_HALF_LIFE_DAYS,
    MAX_QUERY,
    MAX_TAGS,
    MAX_TOP_K,
    Id,
    MemoryType,
    Mode,
    Tag,
    Unit,
    When,
)
from memex.model.memories import Memory

MAX_AGENTS = 100

Tags = Annotated[list[Tag], Meta(min_length=1, max_length=MAX_TAGS)]
Agents = Annotated[list[Id], Meta(min_length=1, max_length=MAX_AGENTS)]


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that every hit meets. An empty list is refused: it can only be a mistake."""

    types: Annotated[list[MemoryType], Meta(min_length=1)] | None = None
    """Memories of one of these kinds. Left out: of all."""
    created_after: When | None = None
    """Memories that happened at this time or later."""
    created_before: When | None = None
    """Memories that happened before this time."""
    tags_any: Tags | None = None
    """Memories with at least one of these tags; a tag is compared as a whole, code point by code point."""
    tags_all: Tags | None = None
    """Memories with each of these tags."""
    session_id: Id | None = None
    """Memories of this conversation."""
    source: Id | None = None
    """Memories from this source."""
    metadata: Conditions | None = None
    """Top-level keys of the metadata with what holds for each, a value or comparisons; or a list of such objects."""


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for, whatever is made of the answer. Null and left out mean the configured default."""

    agent_id: Id
    """Who searches: all of its own memories are."""
    user_id: Id
    """Whom they are about."""
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)]
    """A question or some words, in any language."""
    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] | None = None
    """The most hits to return. Left out: the configured number, 10 unless changed."""
    alpha: Unit | None = None
    """Weight of relevance; the rest is that of recency. Left out: the configured one, 0.7 unless changed."""
    memory_type: MemoryType | None = None
    """Only memories of this kind. Left out: of all."""
    mode: Mode = Mode.HYBRID
    """What makes relevance. `keyword` also returns memories without a common word, whose score is recency alone."""
    half_life_days: Annotated[float, Meta(gt=0.0, le=MAX_HALF_LIFE_DAYS)] | None = None
    """Age in days at which recency is ½. Left out: the configured one, 30 unless changed."""
    importance_weight: Unit | None = None
    """How much importance counts. Left out: the configured weight, 0.1 unless changed."""
    min_score: float | None = None
    """The least score of a hit, before rounding. `alpha` 1 keeps recency out of it. Left out: no bound."""
    filters: Filters | None = None
    """Conditions that every hit meets."""
    agents: Agents | Literal["*"] | None = None
    """Other agents whose shared memories about the user are searched too; `*` is every agent. Left out: none."""
    include_archived: bool = False
    """Whether archived memories are searched too."""
    as_of: When | None = None
    """Search what was known at this past time, archived or not, as it was then; ages count from it. Left out: now."""
    collapse: bool = True
    """Whether copies of one text are one hit, the best of them, with the number of the others in `duplicates`."""


class SearchQuery(Question, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller looks for. Null and left out mean the configured default."""

    explain: bool = False
    """Whether each hit shows the parts of its score."""


class SearchResult(msgspec.Struct, frozen=True):
    """The exact top k, best first."""

    results: list[Memory]
    """The best first; of equal scores the newer."""
    query: str
    """The text that was searched for."""
    total: int
    """The number of results here, not of all memories that would match."""
