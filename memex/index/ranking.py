"""The typed front of the native index of one space."""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from memex import _native
from memex.index.terms import Terms
from memex.model import IndexRow, MemoryType, Mode, Scope


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """One search, as the formula of the contract names its parts. Times are microseconds since 1970."""

    scope: Scope
    mode: Mode
    vector: npt.NDArray[np.float32] | None
    """Shape (dimensions,), of unit length; None only in keyword mode."""
    terms: Terms
    k: int
    alpha: float
    half_life_days: float
    importance_weight: float
    floor: float
    ceiling: float
    min_score: float | None = None
    types: tuple[MemoryType, ...] | None = None
    """None means all."""
    created_after: int | None = None
    """Inclusive."""
    created_before: int | None = None
    """Exclusive."""
    now: int
    """Memories that expire at it or before are gone."""
    collapse: bool = True
    """One text is one hit: its best scored row, then the newest, then the one of the smallest id."""
    include_archived: bool = False
    """Whether archived memories are searched beside the active ones."""


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


class Ranker:
    """The memories of one space. Threads may call it at once: each ranking sees one applied state."""

    def __init__(self, dimensions: int, isa: str = "auto") -> None:
        """Raise ValueError where this machine cannot run `isa` (auto, scalar, avx2, avx512)."""
        self._index = _native.SpaceIndex(dimensions, isa)

    def apply(self, rows: Sequence[IndexRow], removed: Sequence[bytes]) -> None:
        """Take `removed` ids out, then put `rows` in, each in place of the row of the same id; all in one step.

        Applying the same again changes nothing. ValueError for a faulty row: then nothing is applied.
        """
        self._index.apply([msgspec.structs.astuple(row) for row in rows], removed)

    def rank(self, ranking: Ranking) -> list[Hit]:
        """The exact best k, best first; hits whose scores are within 1e-5 newest first, then by smallest id."""
        hits = self._index.rank(
            agent=ranking.scope.agent_id,
            others=ranking.scope.others,
            mode=ranking.mode,
            vector=None if ranking.vector is None else _packed(ranking.vector, self._index.dimensions),
            term_ids=ranking.terms.ids,
            term_counts=ranking.terms.counts,
            k=ranking.k,
            alpha=ranking.alpha,
            half_life_days=ranking.half_life_days,
            importance_weight=ranking.importance_weight,
            floor=ranking.floor,
            ceiling=ranking.ceiling,
            min_score=ranking.min_score,
            types=ranking.types,
            created_after=ranking.created_after,
            created_before=ranking.created_before,
            now=ranking.now,
            collapse=ranking.collapse,
            include_archived=ranking.include_archived,
        )
        return [Hit(*hit) for hit in hits]

    @property
    def isa(self) -> str:
        """The vector instructions in force."""
        return self._index.isa

    @property
    def rows(self) -> int:
        """How many memories are held, archived and expired ones included."""
        return self._index.rows

    @property
    def bytes(self) -> int:
        """Memory that the index takes, in bytes."""
        return self._index.bytes


def _packed(vector: npt.NDArray[np.float32], dimensions: int) -> bytes:
    if vector.dtype != np.float32 or vector.shape != (dimensions,):
        raise ValueError(f"the vector must be {dimensions} float32, not {vector.shape} of {vector.dtype}")
    return vector.astype("<f4", copy=False).tobytes()
