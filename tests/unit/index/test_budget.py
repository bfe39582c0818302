"""Spaces within a budget of bytes: what does not fit is told apart, and what is being loaded counts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from memex.errors import Overloaded
from memex.index import Contents, Ranker, Residency, Resident, TooLarge, budget
from memex.metrics import Metrics
from memex.model import IndexRow, Space, SpaceState
from tests.oracles.copying import pair
from tests.unit.index.rows import numbers, ranker, row, search

ANA, BEN = Space("default", "ana"), Space("default", "ben")
ROWS = [row(number) for number in range(1, 101)]
STATE = SpaceState(1, 1, 0, "m")


def loaded() -> Ranker:
    """What a load makes of them: the rows that come with the snapshot, then the rest."""
    made = ranker(*ROWS[:10])
    made.apply(ROWS[10:], ())
    return made


SIZE = loaded().bytes


class Store:
    """Spaces of equal rows, the first ten of which come with the snapshot; the rest waits for the gate."""

    def __init__(self) -> None:
        self.rows = ROWS
        self.count: int | None = None
        self.opened = 0
        self.open_now = 0
        self.inside = asyncio.Semaphore(0)
        self.gate = asyncio.Event()
        self.gate.set()

    @asynccontextmanager
    async def open(self, space: Space) -> AsyncIterator[Contents | None]:
        self.opened += 1
        self.open_now += 1
        yield self.contents()
        self.open_now -= 1

    def contents(self) -> Contents:
        count = len(self.rows) if self.count is None else self.count
        return Contents(STATE, count, count, self.rows[:10], self.streams(self.rows[10:]))

    async def streams(self, rows: Sequence[IndexRow]) -> AsyncIterator[bytes]:
        self.inside.release()
        await self.gate.wait()
        data = pair(rows)
        for at in range(0, len(data), 1000):
            yield data[at : at + 1000]


Make = Callable[[int], Residency]


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def make(metrics: Metrics) -> Iterator[Make]:
    with ThreadPoolExecutor(2) as executor:
        yield lambda bytes_: Residency(lambda: Ranker(2), bytes_, executor, metrics)


@pytest.fixture
def store() -> Store:
    return Store()


def state(resident: Resident) -> SpaceState | None:
    return resident.state


def held(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("memex_index_resident_bytes")


async def test_a_space_that_comes_in_streams_is_all_there(make: Make, store: Store, metrics: Metrics):
    resident = await make(2**30).obtain(ANA, store.open)
    assert resident is not None
    assert resident.rows == 100
    assert numbers(await resident.rank(search(k=100))) == numbers(ranker(*ROWS).rank(search(k=100)))
    assert held(metrics) == resident.size
    assert metrics.registry.get_sample_value("memex_index_loaded_bytes_total") == len(pair(ROWS[10:]))


async def test_a_space_above_the_budget_is_never_loaded(make: Make, store: Store, metrics: Metrics):
    residency = make(SIZE // 2)
    for _ in range(3):
        with pytest.raises(TooLarge):
            await residency.obtain(ANA, store.open)
    assert store.inside.locked()
    assert store.opened == 1
    assert not held(metrics)


async def test_a_count_that_is_too_low_does_not_pass_the_budget(make: Make, store: Store, metrics: Metrics):
    store.count = 1
    residency = make(SIZE // 2)
    for _ in range(3):
        with pytest.raises(TooLarge):
            await residency.obtain(ANA, store.open)
    assert store.opened == 1
    assert not held(metrics)


@pytest.mark.parametrize("count", [2**63 - 1, 0])
async def test_a_count_that_is_absurd_is_no_crash(make: Make, store: Store, count: int):
    store.count = count
    residency = make(2**40)
    if count:
        with pytest.raises(TooLarge):
            await residency.obtain(ANA, store.open)
    else:
        assert await residency.obtain(ANA, store.open)


async def test_a_space_that_has_shrunk_is_loaded_after_a_while(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch
):
    clock = 0.0
    monkeypatch.setattr("memex.index.budget.time.monotonic", lambda: clock)
    residency = make(SIZE // 2)
    with pytest.raises(TooLarge):
        await residency.obtain(ANA, store.open)
    clock += budget.REFUSED_SECONDS + 1
    with pytest.raises(TooLarge):
        await residency.obtain(ANA, store.open)
    store.rows = ROWS[:20]
    with pytest.raises(TooLarge):
        await residency.obtain(ANA, store.open)
    clock += budget.REFUSED_SECONDS + 1
    assert await residency.obtain(ANA, store.open)
    assert store.opened == 3


async def test_a_load_waits_for_room_only_so_long(make: Make, store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memex.index.residency.ROOM_SECONDS", 0.0)
    residency = make(SIZE * 3 // 2)
    store.gate.clear()
    first = asyncio.create_task(residency.obtain(ANA, store.open))
    await store.inside.acquire()
    with pytest.raises(Overloaded):
        await residency.obtain(BEN, store.open)
    store.gate.set()
    assert await first
    assert await residency.obtain(BEN, store.open)


async def test_a_space_that_is_loaded_twice_at_once_counts_twice(make: Make, store: Store):
    residency = make(SIZE * 3 // 2)
    resident = await residency.obtain(ANA, store.open)
    assert resident is not None
    assert await residency.obtain(BEN, store.open)  # and lets the first one go
    store.gate.clear()
    anew = asyncio.create_task(residency.obtain(ANA, store.open))
    for _ in range(3):
        await store.inside.acquire()
    with pytest.raises(Overloaded):
        await residency.refill(ANA, resident, store.contents())
    store.gate.set()
    assert await anew


async def test_a_resident_that_outgrows_the_budget_is_let_go(make: Make, store: Store, metrics: Metrics):
    residency = make(2 * SIZE)
    resident = await residency.obtain(ANA, store.open)
    assert resident is not None
    await resident.apply(STATE, [row(number) for number in range(1000, 1400)], ())
    residency.weigh(ANA, resident)
    assert not held(metrics)
    store.rows = [*ROWS, *[row(number) for number in range(1000, 1400)]]
    with pytest.raises(TooLarge):
        await residency.obtain(ANA, store.open)
    assert len(await resident.rank(search(k=500))) == 500  # whoever is at it goes on


async def test_deletions_give_room_back(make: Make, store: Store, metrics: Metrics):
    residency = make(2 * SIZE)
    resident = await residency.obtain(ANA, store.open)
    assert resident is not None
    before = held(metrics)
    await resident.apply(STATE, (), [row.id for row in ROWS[5:]])
    residency.weigh(ANA, resident)
    assert before is not None
    assert 0 < (held(metrics) or 0) < before / 4


async def test_loads_at_once_wait_for_each_other_without_a_snapshot(make: Make, store: Store, metrics: Metrics):
    residency = make(SIZE * 3 // 2)
    store.gate.clear()
    first = asyncio.create_task(residency.obtain(ANA, store.open))
    await store.inside.acquire()
    second = asyncio.create_task(residency.obtain(BEN, store.open))
    for _ in range(10):  # as long as there is something to do but to wait
        await asyncio.sleep(0)
    assert (store.opened, store.open_now, second.done()) == (2, 1, False)
    store.gate.set()
    assert await first
    assert await second
    assert held(metrics) == SIZE
    assert metrics.registry.get_sample_value("memex_index_events_total", {"event": "eviction"}) == 1


async def test_a_load_evicts_before_it_takes_memory(make: Make, store: Store, metrics: Metrics):
    residency = make(SIZE * 3 // 2)
    assert await residency.obtain(ANA, store.open)
    await store.inside.acquire()
    store.gate.clear()
    second = asyncio.create_task(residency.obtain(BEN, store.open))
    await store.inside.acquire()
    assert held(metrics) == 0
    store.gate.set()
    assert await second


async def test_a_resident_is_loaded_anew_in_its_place(make: Make, store: Store, metrics: Metrics):
    residency = make(SIZE * 3 // 2)
    resident = await residency.obtain(ANA, store.open)
    assert resident is not None
    store.rows = ROWS[:50]
    store.gate.clear()
    again = asyncio.create_task(residency.refill(ANA, resident, store.contents()))
    for _ in range(2):
        await store.inside.acquire()
    assert state(resident) is None
    assert (held(metrics) or 0) < SIZE / 4
    store.gate.set()
    await again
    assert (state(resident), resident.rows) == (STATE, 50)
    assert await residency.obtain(ANA, store.open) is resident


async def test_a_refill_without_room_is_refused_and_made_good_later(make: Make, store: Store):
    residency = make(SIZE * 3 // 2)
    resident = await residency.obtain(ANA, store.open)
    assert resident is not None
    await store.inside.acquire()
    store.gate.clear()
    other = asyncio.create_task(residency.obtain(BEN, store.open))
    await store.inside.acquire()
    with pytest.raises(Overloaded):
        await residency.refill(ANA, resident, store.contents())
    assert state(resident) is None
    store.gate.set()
    assert await other
    await residency.refill(ANA, resident, store.contents())
    assert (state(resident), resident.rows) == (STATE, 100)


async def test_a_load_that_fails_gives_its_room_back(make: Make, store: Store, monkeypatch: pytest.MonkeyPatch):
    async def broken(_: Sequence[IndexRow]) -> AsyncIterator[bytes]:
        yield b"no stream of rows at all"
        yield b"and more of it"

    residency = make(SIZE * 3 // 2)
    with monkeypatch.context() as patch:
        patch.setattr(store, "streams", broken)
        with pytest.raises(ValueError, match="header"):
            await residency.obtain(ANA, store.open)
    assert isinstance(await residency.obtain(BEN, store.open), Resident)


def test_only_so_many_are_remembered_as_too_large(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(budget, "MOST_REFUSED", 2)
    counted = budget.Budget(10)
    for space in (ANA, BEN, ANA, Space("default", "cleo")):
        counted.refuse(space, 5)
    counted.check(BEN)
    with pytest.raises(TooLarge):
        counted.check(ANA)
