"""Compaction beside readers and writers: nothing is lost, nothing comes back."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex.index import Ranker, Resident
from memex.metrics import Metrics
from memex.model import SpaceState
from tests.unit.index.rows import half, numbers, ranker, row, rows, search, searches

LIMIT = 30
DAYS = search(alpha=0.0, k=1000)
"""All rows, newest first."""


def test_small_changes_pile_up_until_they_are_joined() -> None:
    index = Ranker(2)
    assert not index.fragmented
    for n in range(100):
        index.apply([row(n)], [])
    assert index.fragmented
    before, size = index.rank(DAYS), index.bytes
    index.compact()
    assert not index.fragmented
    assert index.bytes < size
    assert index.rank(DAYS) == before
    assert numbers(before) == list(range(100))


def test_rows_that_are_gone_take_no_memory_for_long() -> None:
    index = ranker(*(row(n, vectors=[half([n / 1000, 1])]) for n in range(1000)))
    index.apply([], [row(n).id for n in range(400)])
    assert not index.fragmented
    index.apply([], [row(n).id for n in range(400, 990)])
    assert index.fragmented
    index.compact()
    assert index.bytes < ranker(*(row(n, vectors=[half([n / 1000, 1])]) for n in range(20))).bytes
    index.apply([], [row(n).id for n in range(1000)])
    assert index.rank(DAYS) == []
    assert not index.fragmented


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(rows(3), max_size=6), min_size=1, max_size=12), searches(3), st.data())
def test_compaction_changes_no_answer(batches, asked, data) -> None:
    tidied, left = Ranker(3), Ranker(3)
    for batch in batches:
        removed = data.draw(st.lists(st.integers(0, 40).map(lambda n: row(n).id), max_size=4))
        tidied.apply(batch, removed)
        left.apply(batch, removed)
        if data.draw(st.booleans()):
            tidied.compact()
    assert tidied.rows == left.rows
    assert tidied.rank(asked) == left.rank(asked)


def test_what_changes_during_a_compaction_stays_changed() -> None:
    index, done = Ranker(2), threading.Event()

    def compact() -> int:
        runs = 0
        while not done.is_set():
            index.compact()
            runs += 1
        return runs

    with ThreadPoolExecutor(2) as pool:
        compacting = [pool.submit(compact) for _ in range(2)]
        try:
            for n in range(1500):
                index.apply([row(n % 300, importance=n / 1500, created_at=n), row(1000 + n)], [row(1000 + n // 2).id])
                if n % 100 == 99:
                    hits = index.rank(search(k=5000, importance_weight=1.0, alpha=0.0, half_life_days=36_500.0))
                    expected = set(range(300) if n >= 300 else range(n + 1)) | set(range(1001 + n // 2, 1001 + n))
                    assert set(numbers(hits)) == expected
                    assert len(hits) == len(expected)
        finally:
            done.set()
        assert all(run.result(timeout=LIMIT) > 0 for run in compacting)
    every = index.rank(search(k=5000))
    found = dict(zip(numbers(every), every, strict=True))
    assert all(found[n].importance == pytest.approx(1 + 0.1 * ((1200 + n) / 1500 - 1)) for n in range(300))


async def test_a_resident_space_is_tidied_beside_its_searches() -> None:
    with ThreadPoolExecutor(1) as executor:
        index = Ranker(2)
        resident = Resident(index, None, executor, Metrics())
        for n in range(200):
            await resident.apply(SpaceState(1, n, 0, "m"), [row(n)], [])
            assert len(await resident.rank(DAYS)) == n + 1
        async with asyncio.timeout(LIMIT):
            while index.fragmented:
                await asyncio.get_running_loop().run_in_executor(executor, int)
    assert numbers(index.rank(DAYS)) == list(range(200))
