"""The typed front of the native index of one space."""

from collections.abc import Sequence
from itertools import starmap

import msgspec

from memex import _native
from memex.model import Hit, IndexRow, Ranking

Answer = list[Hit] | Exception


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
        return list(starmap(Hit, self._index.rank(ranking)))

    def rank_all(self, rankings: Sequence[Ranking]) -> list[Answer]:
        """What `rank` gives for each, or its error, from one state and in one walk over the rows."""
        answers = self._index.rank_all(rankings)
        return [answer if isinstance(answer, Exception) else list(starmap(Hit, answer)) for answer in answers]

    def again(self, ranking: Ranking) -> list[Hit] | None:
        """What `rank` gives, for what was asked before of the same rows, if the answer is kept and certain.

        A ranking of what is asked here for the second time keeps its answer until the rows change.
        """
        hits = self._index.again(ranking)
        return None if hits is None else list(starmap(Hit, hits))

    def compact(self) -> None:
        """Join small parts and drop rows that are gone. Others rank and apply meanwhile."""
        self._index.compact()

    @property
    def fragmented(self) -> bool:
        """Whether `compact` has something to do."""
        return self._index.fragmented

    @property
    def work(self) -> tuple[int, int]:
        """Rows that all rankings together compared, and those of them that they scored in full."""
        return self._index.work

    def loader(self) -> _native.Loader:
        """Takes the rows of a whole space from the store's streams; nothing else may change this ranker meanwhile."""
        return _native.Loader(self._index)

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
