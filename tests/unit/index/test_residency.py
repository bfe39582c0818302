"""Which spaces are in memory: joined loads, their order against what is written meanwhile, and the budget."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from memex.errors import StoreUnavailable
from memex.index import Contents, Ranker, Residency, Resident
from memex.metrics import Metrics
from memex.model import IndexRow, Space, SpaceState
from tests.unit.index.rows import ranker, row

ANA, BEN = Space("default", "ana"), Space("default", "ben")
SIZE = ranker(row(1)).bytes
"""Of a space of one row."""


class Store:
    """Spaces that can be read; a reader holds its snapshot for as long as the gate is closed."""

    def __init__(self) -> None:
        self.rows: dict[Space, list[IndexRow]] = {}
        self.loads: list[Space] = []
        self.begun = asyncio.Semaphore(0)
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.at_the_end: Callable[[], None] | None = None

    @asynccontextmanager
    async def load(self, space: Space) -> AsyncIterator[Contents | None]:
        snapshot = list(self.rows[space]) if space in self.rows else None
        self.loads.append(space)
        self.begun.release()
        await self.gate.wait()
        if self.failure:
            raise self.failure
        yield None if snapshot is None else contents(snapshot)
        await asyncio.sleep(0)
        if self.at_the_end:
            self.at_the_end()


def contents(rows: Sequence[IndexRow]) -> Contents:
    vectors = sum(len(row.vectors) for row in rows)
    return Contents(SpaceState(1, len(rows), 0, "m"), len(rows), vectors, rows, nothing())


async def nothing() -> AsyncIterator[bytes]:
    for _ in range(0):
        yield b""


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


@pytest.fixture
def residency(executor: ThreadPoolExecutor, metrics: Metrics) -> Residency:
    return Residency(lambda: Ranker(2), 2**30, executor, metrics)


@pytest.fixture
def store() -> Store:
    return Store()


async def test_many_who_want_a_space_at_once_share_one_load(residency: Residency, store: Store):
    store.rows[ANA] = [row(1)]
    found = await asyncio.gather(*[residency.obtain(ANA, store.load) for _ in range(20)])
    assert len(set(map(id, found))) == 1
    assert await residency.obtain(ANA, store.load) is found[0]
    assert store.loads == [ANA]


async def test_who_comes_after_the_first_write_is_not_told_of_the_time_before(residency: Residency, store: Store):
    store.gate.clear()
    early = asyncio.create_task(residency.obtain(ANA, store.load))
    await store.begun.acquire()
    store.rows[ANA] = [row(1)]
    late = [asyncio.create_task(residency.obtain(ANA, store.load)) for _ in range(20)]
    store.gate.set()
    assert await early is None
    assert None not in await asyncio.gather(*late)
    assert store.loads == [ANA, ANA]


async def test_who_comes_in_the_very_moment_a_load_ends_is_not_told_of_the_time_before(
    residency: Residency, store: Store
):
    late: list[asyncio.Task[Resident | None]] = []

    def write_and_look() -> None:
        store.at_the_end, store.rows[ANA] = None, [row(1)]
        late.append(asyncio.create_task(residency.obtain(ANA, store.load)))

    store.at_the_end = write_and_look
    assert await residency.obtain(ANA, store.load) is None
    assert await late[0]


async def test_a_failed_load_reaches_all_who_wait_and_the_next_one_tries_again(residency: Residency, store: Store):
    store.rows[ANA], store.failure = [row(1)], StoreUnavailable()
    waiting = [residency.obtain(ANA, store.load) for _ in range(5)]
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    store.failure = None
    assert await residency.obtain(ANA, store.load)
    assert store.loads == [ANA, ANA]


async def test_who_leaves_takes_nobody_along(residency: Residency, store: Store):
    store.rows[ANA] = [row(1)]
    store.gate.clear()
    first, second = (asyncio.create_task(residency.obtain(ANA, store.load)) for _ in range(2))
    await store.begun.acquire()
    first.cancel()
    store.gate.set()
    assert await second
    assert store.loads == [ANA]


async def test_the_space_that_was_used_longest_ago_goes_first(
    executor: ThreadPoolExecutor, metrics: Metrics, store: Store
):
    spaces = [Space("default", str(number)) for number in range(3)]
    store.rows = {space: [row(1)] for space in spaces}
    measured = Residency(lambda: Ranker(2), 2**30, executor, metrics)
    one = await measured.obtain(spaces[0], store.load)
    assert one
    residency = Residency(lambda: Ranker(2), 2 * one.size, executor, metrics)
    store.loads.clear()
    for number in (0, 1, 0, 2, 0, 1):
        await residency.obtain(spaces[number], store.load)
    assert store.loads == [spaces[number] for number in (0, 1, 2, 1)]
    assert metrics.registry.get_sample_value("memex_index_resident_spaces") == 2
    assert metrics.registry.get_sample_value("memex_index_resident_bytes") == 2 * one.size


async def test_loads_that_end_together_keep_the_sum_of_the_sizes(
    executor: ThreadPoolExecutor, metrics: Metrics, store: Store
):
    residency = Residency(lambda: Ranker(2), SIZE, executor, metrics)
    spaces = [Space("default", str(number)) for number in range(10)]
    store.rows = {space: [row(1)] for space in spaces}
    found = await asyncio.gather(*[residency.obtain(space, store.load) for space in spaces])
    assert all(found)
    assert metrics.registry.get_sample_value("memex_index_resident_spaces") == 1
    assert metrics.registry.get_sample_value("memex_index_resident_bytes") == SIZE
