"""One space in memory: who ranks in it, who changes it, and its upkeep."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from memex.index.loading import seen
from memex.index.ranking import Ranker
from memex.index.walks import Walks
from memex.metrics import Metrics
from memex.model import Hit, IndexRow, Ranking, SpaceState

# Below this a ranking takes less than the event loop can spare (about 0.1 ms); above it goes to a thread.
ROWS_ON_THE_LOOP = 16_384
# Fewer are ranked about as fast as a kept answer is found.
ROWS_WORTH_KEEPING_ANSWERS = 1000
PART_ROWS = 250
LEAST_CHANGES = 500
MOST_CHANGES = 20_000
"""What so many rows take in Python is memory that no budget counts."""


class Resident:
    """One space in memory.

    A ranking never waits for changes: it sees the rows of `state` or newer ones; None stands for no state of the store.
    Changes are applied one after the other, under `lock`.
    """

    def __init__(self, ranker: Ranker, state: SpaceState | None, executor: Executor, metrics: Metrics) -> None:
        """`executor` runs what is too long for the event loop."""
        self.state = state
        self.lock = asyncio.Lock()
        self._executor = executor
        self._metrics = metrics
        self._begin(ranker)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._ranker.bytes

    @property
    def rows(self) -> int:
        """How many memories are held."""
        return self._ranker.rows

    async def rank(self, ranking: Ranking) -> list[Hit]:
        """The exact top k."""
        if (hits := self._again(ranking)) is not None:
            self._metrics.index_events.labels("repeat").inc()
            return hits
        if self._ranker.rows > ROWS_ON_THE_LOOP:
            return await self._walks.rank(ranking)
        hits = self._ranker.rank(ranking)
        self._walks.count()
        return hits

    def _again(self, ranking: Ranking) -> list[Hit] | None:
        # Ids can be many, and are never asked for twice.
        worth = ranking.only is None and self._ranker.rows >= ROWS_WORTH_KEEPING_ANSWERS
        return self._ranker.again(ranking) if worth else None

    @property
    def most_changes(self) -> int:
        """With more changes than that to take in one by one, loading all rows is quicker."""
        return min(max(self.rows // 8, LEAST_CHANGES), MOST_CHANGES)

    async def apply(self, state: SpaceState, rows: Sequence[IndexRow], removed: Sequence[bytes]) -> None:
        """Moves to `state`; the caller holds `lock`.

        Rows first and a part at a time, so that others have the event loop: a ranking in between is only looked at
        twice.
        """
        self._ranker.apply((), removed)
        for start in range(0, len(rows), PART_ROWS):
            self._ranker.apply(rows[start : start + PART_ROWS], ())
            await asyncio.sleep(0)
        self.state = state
        self._tidy()

    def replace(self, ranker: Ranker, state: SpaceState | None) -> None:
        """Starts anew with other rows; the caller holds `lock`."""
        self.state = state
        self._begin(ranker)

    def _begin(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._walks = Walks(ranker, self._executor, self._metrics)
        self._tidying: asyncio.Future[None] | None = None

    def _tidy(self) -> None:
        """Compacts in a thread, one at a time, for as long as there is something to do."""
        if self._tidying is None and self._ranker.fragmented:
            tidying = asyncio.get_running_loop().run_in_executor(self._executor, self._ranker.compact)
            tidying.add_done_callback(self._tidied)
            self._tidying = tidying

    def _tidied(self, tidying: asyncio.Future[None]) -> None:
        seen(tidying)  # what failed is tried again after the next change
        if self._tidying is not tidying:
            return  # of a ranker that was replaced meanwhile
        self._tidying = None
        if not tidying.cancelled() and tidying.exception() is None:
            self._tidy()
