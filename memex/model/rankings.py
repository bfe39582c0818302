"""Rankings: what a search comes to, and what comes of it. The index and the store answer them alike."""

from typing import TYPE_CHECKING

import msgspec

from memex.model.conditions import Condition
from memex.model.fields import MemoryType, Mode
from memex.model.spaces import Scope

if TYPE_CHECKING:  # who reads settings or greets a client needs no arrays
    import numpy as np
    import numpy.typing as npt


class Terms(msgspec.Struct, frozen=True, gc=False):
    """The terms of one text."""

    ids: list[int]
    """Distinct signed 32-bit term ids, ascending."""
    counts: list[int]
    """How often each occurs, 1 to 32,767."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """One search, as the formula of the contract names its parts. Times are microseconds since 1970."""

    scope: Scope
    mode: Mode
    vector: "npt.NDArray[np.float32] | None"
    """Shape (dimensions,), of unit length; None only in keyword mode."""
    terms: Terms
    k: int
    alpha: float
    half_life_days: float
    importance_weight: float
    floor: float
    ceiling: float
    min_score: float | None = None
    now: int
    """Memories that expire at it or before are gone."""
    collapse: bool = True
    """One text is one hit: its best scored row, then the newest, then the one of the smallest id."""
    include_archived: bool = False
    """Whether archived memories are searched beside the active ones."""
    types: tuple[MemoryType, ...] | None = None
    """One of them; here and below None is no condition."""
    created_after: int | None = None
    """Inclusive."""
    created_before: int | None = None
    """Exclusive."""
    tags_any: tuple[str, ...] | None = None
    """At least one of them."""
    tags_all: tuple[str, ...] | None = None
    """Each of them."""
    session_id: str | None = None
    source: str | None = None
    metadata: tuple[Condition, ...] = ()
    """All of them. The store knows metadata, the index does not: it takes the ids of the store's answer in `only`."""
    only: bytes | None = None
    """Ids of 16 bytes, distinct and ascending, one after another."""


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One memory of an answer with the parts of its score."""

    id: bytes
    """UUID, 16 bytes big-endian."""
    score: float
    """Finite, not rounded."""
    cosine: float | None
    """Of the best chunk; None where no vector was compared."""
    lexical: float
    """BM25; 0 in semantic mode, which reads no terms."""
    relevance: float
    recency: float
    importance: float
    """The factor 1 + weight · (importance - 1)."""
    duplicates: int
    """Other rows of the same text that the caller may see and the filters pass; 0 without collapse."""
