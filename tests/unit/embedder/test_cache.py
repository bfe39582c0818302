import asyncio
import gc
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.embedder.cache import Cache, Embedded, Keys, framed, size_of
from memex.embedder.encoder import Role
from memex.errors import EncoderFailed
from memex.metrics import Metrics
from tests.fakes import PATIENCE

KEY = b"k" * 32


def entry(chunks: int = 1, dimensions: int = 8) -> Embedded:
    return tuple(np.ones(dimensions, np.float32) for _ in range(chunks))


def count(metrics: Metrics, outcome: str) -> float | None:
    return metrics.registry.get_sample_value("memex_embedding_cache_total", {"outcome": outcome})


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def cache(metrics):
    return Cache(100_000, metrics)


class Source:
    """Computes when it is let go, and counts how often it was asked."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.calls = 0
        self.cancelled = 0
        self.go = asyncio.Event()
        self.started = asyncio.Event()
        self.result = entry()
        self.failure = failure

    async def __call__(self) -> Embedded:
        self.calls += 1
        self.started.set()
        try:
            await asyncio.wait_for(self.go.wait(), PATIENCE)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure:
            raise self.failure
        return self.result


# ── least recently used, by bytes ──

operations = st.lists(
    st.one_of(
        st.tuples(st.just("get"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("put"), st.integers(0, 3), st.integers(1, 3)),
    ),
    max_size=60,
)


@given(operations, st.integers(0, 4000))
def test_it_is_a_plain_dict_that_forgets_the_least_recently_used(steps, capacity):
    metrics = Metrics()
    cache = Cache(capacity, metrics)
    model: OrderedDict[bytes, Embedded] = OrderedDict()
    for verb, number, chunks in steps:
        key = bytes([number]) * 32
        if verb == "get":
            found = cache.get(key)
            assert found is model.get(key)
            if key in model:
                model.move_to_end(key)
        else:
            model.pop(key, None)
            value = entry(chunks)
            cache.put(key, value)
            if size_of(value) <= capacity:
                model[key] = value
                while sum(map(size_of, model.values())) > capacity:
                    model.popitem(last=False)
        assert len(cache) == len(model)
        assert cache.bytes == sum(map(size_of, model.values())) <= capacity
    assert all(cache.get(key) is value for key, value in list(model.items()))


def test_a_look_up_counts_as_use():
    cache = Cache(2 * size_of(entry()), Metrics())
    cache.put(b"a", entry())
    cache.put(b"b", entry())
    assert cache.get(b"a")
    cache.put(b"c", entry())
    assert [key for key in (b"a", b"b", b"c") if cache.get(key)] == [b"a", b"c"]


def test_the_gauge_shows_the_bytes_also_after_a_refused_entry_replaced_one():
    metrics = Metrics()
    cache = Cache(1000, metrics)
    cache.put(KEY, entry())
    assert metrics.registry.get_sample_value("memex_embedding_cache_bytes") == cache.bytes == size_of(entry())
    cache.put(KEY, entry(chunks=9))
    assert cache.get(KEY) is None
    assert metrics.registry.get_sample_value("memex_embedding_cache_bytes") == 0


def test_size_counts_the_numbers():
    assert size_of(entry(2, 384)) >= 2 * 384 * 4


# ── one computation at a time ──


async def test_two_hundred_equal_requests_are_one_computation(cache, metrics):
    source = Source()
    waiting = [asyncio.create_task(cache.fetch(KEY, source)) for _ in range(200)]
    await source.started.wait()
    source.go.set()
    results = await asyncio.gather(*waiting)
    assert source.calls == 1
    assert all(result is source.result for result in results)
    assert cache.get(KEY) is source.result
    assert (count(metrics, "miss"), count(metrics, "wait"), count(metrics, "hit")) == (1, 199, 1)


async def test_different_keys_are_computed_apart(cache):
    first, second = Source(), Source()
    tasks = [asyncio.create_task(cache.fetch(key, source)) for key, source in ((b"a", first), (b"b", second))]
    await asyncio.gather(first.started.wait(), second.started.wait())  # both in work at once
    first.go.set()
    second.go.set()
    one, other = await asyncio.gather(*tasks)
    assert one is first.result
    assert other is second.result


async def test_a_waiter_that_leaves_does_not_cancel_the_others(cache):
    source = Source()
    tasks = [asyncio.create_task(cache.fetch(KEY, source)) for _ in range(3)]
    await source.started.wait()
    tasks[0].cancel()  # the one that launched the work
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    source.go.set()
    assert [await task for task in tasks[1:]] == [source.result, source.result]
    assert (source.calls, source.cancelled) == (1, 0)


async def test_when_all_leave_the_work_is_cancelled_and_a_new_caller_starts_anew(cache):
    abandoned, fresh = Source(), Source()
    tasks = [asyncio.create_task(cache.fetch(KEY, abandoned)) for _ in range(2)]
    await abandoned.started.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    fresh.go.set()
    assert await cache.fetch(KEY, fresh) is fresh.result
    assert (abandoned.cancelled, fresh.calls) == (1, 1)
    assert cache.get(KEY) is fresh.result


async def test_a_failure_reaches_every_waiter_is_not_kept_and_the_next_call_retries(cache):
    failing = Source(failure=EncoderFailed())
    failing.go.set()
    outcomes = await asyncio.gather(*(cache.fetch(KEY, failing) for _ in range(5)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [EncoderFailed] * 5
    assert failing.calls == 1
    assert cache.get(KEY) is None
    working = Source()
    working.go.set()
    assert await cache.fetch(KEY, working) is working.result


async def test_a_failure_after_all_have_left_is_not_kept_and_not_reported(cache, caplog):
    """A computation that swallows its cancellation and fails all the same."""

    started = asyncio.Event()

    async def stubborn():
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise EncoderFailed from None

    task = asyncio.create_task(cache.fetch(KEY, stubborn))
    await started.wait()
    (work,) = asyncio.all_tasks() - {task, asyncio.current_task()}
    task.cancel()
    await asyncio.wait([task, work], timeout=PATIENCE)
    assert task.cancelled()
    assert work.done()
    del task, work  # an error that nobody looked at is reported when its task goes
    gc.collect()
    assert cache.get(KEY) is None
    assert caplog.records == []


async def test_without_room_equal_requests_are_still_one_computation(metrics):
    cache, source = Cache(0, metrics), Source()
    source.go.set()
    await asyncio.gather(*(cache.fetch(KEY, source) for _ in range(10)))
    assert (source.calls, len(cache)) == (1, 0)


# ── keys ──


def test_a_key_depends_on_everything_that_the_vector_depends_on():
    keys = Keys("model@1", "engine")
    different = {
        keys.key(Role.QUERY, "tenant", "text"),
        keys.key(Role.PASSAGE, "tenant", "text"),
        keys.key(Role.QUERY, "other", "text"),
        keys.key(Role.QUERY, "tenant", "text "),
        Keys("model@2", "engine").key(Role.QUERY, "tenant", "text"),
        Keys("model@1", "native").key(Role.QUERY, "tenant", "text"),
        Keys("model@1e", "ngine").key(Role.QUERY, "tenant", "text"),
        keys.key(Role.QUERY, "tenantt", "ext"),
    }
    assert len(different) == 8
    assert keys.key(Role.QUERY, "tenant", "text") == Keys("model@1", "engine").key(Role.QUERY, "tenant", "text")


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_two_lists_of_fields_are_the_same_bytes_only_if_they_are_equal(one, other):
    assert (framed(*one) == framed(*other)) == (one == other)
