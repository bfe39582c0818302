"""Searches that share one walk over the rows."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memex.index import Ranker, Resident
from memex.index.ranking import Answer
from memex.index.resident import ROWS_ON_THE_LOOP
from memex.index.walks import Walks
from memex.metrics import Metrics
from memex.model import Mode, Ranking
from tests.unit.index.rows import ISAS, half, numbers, ranker, row, rows, search, searches, single

LIMIT = 30


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_answer_is_the_same_in_company(isa: str, data: st.DataObject) -> None:
    kept = data.draw(st.lists(rows(3), max_size=40))
    index = ranker(*kept, dimensions=3, isa=isa)
    asked = data.draw(st.lists(searches(3), max_size=5))
    assert index.rank_all(asked) == [index.rank(one) for one in asked]


def test_a_faulty_search_has_its_own_error() -> None:
    index = ranker(row(1), row(2))
    asked = [search(), search(k=0), search(mode=Mode.KEYWORD), search(vector=single([1])), search(k=1), search(k=-1)]
    asked += [
        replace(search(), scope=None),
        search(terms=[2**31]),
        search(vector=np.zeros(2)),
        search(vector=np.zeros(2, ">f4")),
    ]
    found = index.rank_all(asked)
    assert [found[0], found[2], found[4]] == [index.rank(asked[0]), index.rank(asked[2]), index.rank(asked[4])]
    errors = [found[1], found[3], *found[5:]]
    assert [type(error) for error in errors] == [ValueError] * 3 + [TypeError, ValueError] + [TypeError] * 2
    assert index.rank_all([]) == []


class Watched(Ranker):
    """Tells how many searches each walk was for."""

    def __init__(self) -> None:
        super().__init__(2)
        self.walks: list[int] = []

    def rank_all(self, rankings: Sequence[Ranking]) -> list[Answer]:
        self.walks.append(len(rankings))
        return super().rank_all(rankings)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def filled(watched: Watched) -> Watched:
    """With more rows than the event loop ranks itself; row n is better than all after it."""
    angles = np.linspace(0, 1.5, ROWS_ON_THE_LOOP + 100)
    watched.apply([row(n, vectors=[half([np.cos(angle), np.sin(angle)])]) for n, angle in enumerate(angles)], [])
    return watched


@pytest.fixture
def large() -> Watched:
    return filled(Watched())


async def test_who_comes_during_a_walk_shares_the_next(executor: ThreadPoolExecutor, large: Watched) -> None:
    walks, gate = Walks(large, executor, Metrics()), threading.Event()
    busy = executor.submit(gate.wait, LIMIT)
    asked = [search(k=k, alpha=1.0) for k in range(1, 6)]
    waiting = [asyncio.create_task(walks.rank(one)) for one in asked]
    faulty = asyncio.create_task(walks.rank(search(k=0)))
    await asyncio.sleep(0)
    waiting[3].cancel()
    await asyncio.sleep(0)
    gate.set()
    found: list[Any] = await asyncio.gather(*waiting, faulty, return_exceptions=True)
    assert busy.result()
    assert [numbers(hits) for hits in found[:3]] == [[0], [0, 1], [0, 1, 2]]
    assert isinstance(found[3], asyncio.CancelledError)
    assert numbers(found[4]) == [0, 1, 2, 3, 4]
    assert isinstance(found[5], ValueError)
    assert large.walks == [1, 4]


async def test_rows_that_searches_look_at_are_counted(executor: ThreadPoolExecutor, large: Watched) -> None:
    metrics = Metrics()
    resident = Resident(large, None, executor, metrics)
    await asyncio.gather(*[resident.rank(search(k=3)) for _ in range(4)])
    scanned, scored = (metrics.index_rows.labels(step)._value.get() for step in ("scanned", "scored"))
    assert (scanned, scored) == large.work
    assert scanned >= scored > 0
    assert numbers(await resident.rank(search(k=1))) == [0]


class Failing(Watched):
    """Its walks for several fail."""

    def rank_all(self, rankings: Sequence[Ranking]) -> list[Answer]:
        if len(rankings) > 1:
            raise MemoryError
        return super().rank_all(rankings)


async def test_a_walk_that_fails_fails_for_all_who_share_it(executor: ThreadPoolExecutor) -> None:
    resident = Resident(filled(Failing()), None, executor, Metrics())
    asked = [search(k=1), search(k=2), search(k=3)]
    found: list[Any] = await asyncio.gather(*[resident.rank(one) for one in asked], return_exceptions=True)
    assert numbers(found[0]) == [0]
    assert all(isinstance(error, MemoryError) for error in found[1:])
    assert numbers(await resident.rank(search(k=1))) == [0]
