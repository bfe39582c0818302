"""Which spaces are in memory, each with the state of the store that it stands for."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from functools import partial

from memex.errors import Overloaded
from memex.index.budget import Budget
from memex.index.loading import Contents, estimate, load, seen
from memex.index.ranking import Ranker
from memex.index.resident import Resident
from memex.metrics import Metrics
from memex.model import IndexStats, Space

ROOM_SECONDS = 10.0
"""How long a load waits for the room that other loads have."""
# Opens a snapshot of a space; None where the store has no such space.
Open = Callable[[Space], AbstractAsyncContextManager[Contents | None]]


class Residency:
    """The resident spaces, least recently used first, within a budget of bytes. What is being loaded counts too."""

    def __init__(self, new_ranker: Callable[[], Ranker], budget: int, executor: Executor, metrics: Metrics) -> None:
        """`budget` is in bytes; `executor` runs what is too long for the event loop."""
        self._new_ranker = new_ranker
        self._budget = Budget(budget)
        self._executor = executor
        self._metrics = metrics
        self._spaces: OrderedDict[Space, Resident] = OrderedDict()
        self._loads: dict[Space, asyncio.Task[Resident | None]] = {}

    async def obtain(self, space: Space, open_: Open) -> Resident | None:
        """The resident space, loaded if need be; None where the store has none. Concurrent loads are one load.

        Raises TooLarge where it does not fit the budget, and what `open_` raises.
        """
        if (joined := self._loads.get(space)) and (resident := await asyncio.shield(joined)):
            return resident
        # That an earlier load found no space says nothing of one written since; a load begun from here on does.
        if resident := self._spaces.get(space):
            self._spaces.move_to_end(space)
            return resident
        if space not in self._loads:
            self._budget.check(space)
        return await asyncio.shield(self._loads.get(space) or self._begin(space, open_))

    async def refill(self, space: Space, resident: Resident, contents: Contents) -> None:
        """Loads a resident space anew; the caller holds its lock.

        What it held is let go first, so that it is never twice in memory. Raises Overloaded where other loads have the
        room for now, and TooLarge where it does not fit any more.
        """
        resident.replace(self._new_ranker(), None)
        self.weigh(space, resident)
        try:
            ranker = await self._fill(resident, space, contents)
        finally:
            self._budget.release(resident)
        if ranker is None:
            raise Overloaded
        resident.replace(ranker, contents.state)
        self.weigh(space, resident)

    def weigh(self, space: Space, resident: Resident) -> None:
        """Takes a changed size into account and evicts what no longer fits, `resident` itself if it outgrew all."""
        if self._spaces.get(space) is resident and not self._budget.hold(space, resident.size):
            self._budget.refuse(space, resident.rows)
            self._evict(space)
        self._make_room()

    def stats(self) -> IndexStats:
        """What is in memory just now."""
        return IndexStats(
            spaces=len(self._spaces),
            memories=sum(resident.rows for resident in self._spaces.values()),
            bytes=self._budget.total,
            capacity=self._budget.whole,
            loading=len(self._loads),
        )

    def _begin(self, space: Space, open_: Open) -> asyncio.Task[Resident | None]:
        task = self._loads[space] = asyncio.create_task(self._load(space, open_))
        task.add_done_callback(seen)
        return task

    async def _load(self, space: Space, open_: Open) -> Resident | None:
        try:
            resident = await self._loaded(space, open_)
        finally:
            del self._loads[space]  # at once: nobody may join a load that has ended
            self._budget.release(space)
        if resident is not None:
            self._spaces[space] = resident  # in one step with its size: others weigh at every await
            self.weigh(space, resident)
        return resident

    async def _loaded(self, space: Space, open_: Open) -> Resident | None:
        while True:
            released = self._budget.released
            async with open_(space) as contents:
                if contents is None:
                    return None
                if ranker := await self._fill(space, space, contents):
                    return Resident(ranker, contents.state, self._executor, self._metrics)
            await room(released)  # without a snapshot: others need its connection

    async def _fill(self, load_: Hashable, space: Space, contents: Contents) -> Ranker | None:
        """A ranker of all rows, with its bytes set aside for `load_`; None where others have the room for now."""
        begin, ranker = time.perf_counter(), self._new_ranker()
        ranker.apply(contents.beginning, ())
        if not self._budget.admit(load_, space, estimate(ranker, contents), contents.memories):
            return None
        self._make_room()
        loaded = await load(
            ranker, contents.streams, self._executor, partial(self._grow, load_, space, contents.memories)
        )
        self._metrics.index_events.labels("load").inc()
        self._metrics.load_seconds.observe(time.perf_counter() - begin)
        self._metrics.loaded_bytes.inc(loaded)
        return ranker

    def _grow(self, load_: Hashable, space: Space, memories: int, size: int) -> None:
        self._budget.grow(load_, space, memories, size)
        self._make_room()

    def _make_room(self) -> None:
        while self._budget.excess and self._spaces:
            self._evict(next(iter(self._spaces)))
        self._metrics.resident_spaces.set(len(self._spaces))
        self._metrics.resident_bytes.set(self._budget.total)

    def _evict(self, space: Space) -> None:
        del self._spaces[space]
        self._budget.drop(space)
        self._metrics.index_events.labels("eviction").inc()


async def room(released: asyncio.Event) -> None:
    """Waits for another load to end. Raises Overloaded where none does for long."""
    try:
        async with asyncio.timeout(ROOM_SECONDS):
            await released.wait()
    except TimeoutError as error:
        raise Overloaded from error
