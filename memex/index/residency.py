"""Which spaces are in memory, each with the state of the store that it stands for."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager

import msgspec

from memex.index.ranking import Ranker
from memex.metrics import Metrics
from memex.model import Hit, IndexRow, Ranking, Space, SpaceState

# Below this a ranking takes less than the event loop can spare (about 0.3 ms); above it goes to a thread.
ROWS_ON_THE_LOOP = 8_192


class Contents(msgspec.Struct, frozen=True):
    """A whole space as one snapshot of the store has it: its state, then its rows in batches."""

    state: SpaceState
    batches: AsyncIterator[Sequence[IndexRow]]


# Opens a snapshot of a space; None where the store has no such space.
Load = Callable[[Space], AbstractAsyncContextManager[Contents | None]]


class Resident:
    """One space in memory.

    A ranking never waits: it sees the rows of `state` or newer ones. Changes are applied one after
    the other, under `lock`.
    """

    def __init__(self, ranker: Ranker, state: SpaceState, executor: Executor) -> None:
        """`executor` runs the rankings that are too long for the event loop."""
        self.state = state
        self.lock = asyncio.Lock()
        self._ranker = ranker
        self._executor = executor

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._ranker.bytes

    async def rank(self, ranking: Ranking) -> list[Hit]:
        """The exact top k."""
        if self._ranker.rows <= ROWS_ON_THE_LOOP:
            return self._ranker.rank(ranking)
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._ranker.rank, ranking)

    def apply(self, state: SpaceState, rows: Sequence[IndexRow], removed: Sequence[bytes]) -> None:
        """Moves to `state`; the caller holds `lock`. Rows first: a ranking between the two is only looked at twice."""
        self._ranker.apply(rows, removed)
        self.state = state

    def replace(self, ranker: Ranker, state: SpaceState) -> None:
        """Starts anew from a full load; the caller holds `lock`."""
        self._ranker, self.state = ranker, state


class Residency:
    """The resident spaces, least recently used first, within a budget of bytes."""

    def __init__(self, new_ranker: Callable[[], Ranker], budget: int, executor: Executor, metrics: Metrics) -> None:
        """`budget` is in bytes. One space is kept even if it alone exceeds it."""
        self._new_ranker = new_ranker
        self._budget = budget
        self._executor = executor
        self._metrics = metrics
        self._spaces: OrderedDict[Space, Resident] = OrderedDict()
        self._sizes: dict[Space, int] = {}
        self._total = 0
        self._loads: dict[Space, asyncio.Task[Resident | None]] = {}

    async def obtain(self, space: Space, load: Load) -> Resident | None:
        """The resident space, loaded if need be; None where the store has none. Concurrent loads are one load."""
        if (joined := self._loads.get(space)) and (resident := await asyncio.shield(joined)):
            return resident
        # That an earlier load found no space says nothing of one written since; a load begun from here on does.
        if resident := self._spaces.get(space):
            self._spaces.move_to_end(space)
            return resident
        return await asyncio.shield(self._loads.get(space) or self._begin(space, load))

    async def fill(self, batches: AsyncIterator[Sequence[IndexRow]]) -> Ranker:
        """A ranker of all rows of one space."""
        ranker = self._new_ranker()
        async for batch in batches:
            ranker.apply(batch, ())
        self._metrics.index_events.labels("load").inc()
        return ranker

    def weigh(self, space: Space) -> None:
        """Takes a changed size into account and evicts what no longer fits."""
        if resident := self._spaces.get(space):
            self._total += resident.size - self._sizes.get(space, 0)
            self._sizes[space] = resident.size
        while self._total > self._budget and len(self._spaces) > 1:
            evicted, _ = self._spaces.popitem(last=False)
            self._total -= self._sizes.pop(evicted)
            self._metrics.index_events.labels("eviction").inc()
        self._metrics.resident_spaces.set(len(self._spaces))
        self._metrics.resident_bytes.set(self._total)

    def _begin(self, space: Space, load: Load) -> asyncio.Task[Resident | None]:
        task = self._loads[space] = asyncio.create_task(self._load(space, load))
        task.add_done_callback(seen)
        return task

    async def _load(self, space: Space, load: Load) -> Resident | None:
        try:
            async with load(space) as contents:
                if contents is None:
                    return None
                resident = Resident(await self.fill(contents.batches), contents.state, self._executor)
        finally:
            del self._loads[space]  # at once: nobody may join a load that has ended
        self._spaces[space] = resident  # in one step with its size: others weigh at every await
        self.weigh(space)
        return resident


def seen(load: asyncio.Task[Resident | None]) -> None:
    """Takes the error of a load, also where every waiter has left."""
    if not load.cancelled():
        load.exception()
