"""Readers beside a writer."""

import threading
from concurrent.futures import ThreadPoolExecutor

from memex.index import Ranker
from memex.model import Mode
from tests.unit.index.rows import NOW, half, row, search

ROWS = 40
GENERATIONS = 300
LIMIT = 30


def generation(number: int):
    """Fixed ids and ids of this generation alone, all of one importance."""
    ids = [*range(ROWS // 2), *(1000 + number * ROWS + n for n in range(ROWS // 2))]
    return [row(n, importance=number / 1000, created_at=NOW, vectors=[half([0, 0])]) for n in ids]


def test_a_reader_sees_one_whole_state_and_states_never_go_back() -> None:
    index, done, progress = Ranker(2), threading.Event(), threading.Semaphore(0)
    index.apply(generation(0), [])

    def read() -> list[float]:
        seen: list[float] = []
        while not done.is_set():
            hits = index.rank(search(mode=Mode.KEYWORD, k=50, importance_weight=1.0))
            assert len(hits) == ROWS
            assert len({hit.importance for hit in hits}) == 1
            seen.append(hits[0].importance)
            progress.release()
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for number in range(1, GENERATIONS):
                gone = [old.id for old in generation(number - 1)]
                index.apply(generation(number), gone)
                if number % 50 == 0:
                    # Both sides move on: a read ends after this apply.
                    while progress.acquire(blocking=False):
                        pass
                    assert progress.acquire(timeout=LIMIT)
        finally:
            done.set()
    for seen in (reader.result(timeout=LIMIT) for reader in readers):
        assert seen == sorted(seen)
    assert len({value for reader in readers for value in reader.result()}) >= 5


def test_writers_at_once_lose_nothing() -> None:
    index, start = Ranker(2), threading.Barrier(4)

    def write(first: int) -> None:
        start.wait(LIMIT)
        for n in range(first, first + 200):
            index.apply([row(n)], [row(n - 1).id] if n % 2 else [])

    with ThreadPoolExecutor(4) as pool:
        for writer in [pool.submit(write, first) for first in range(0, 4000, 1000)]:
            writer.result(timeout=LIMIT)
    assert index.rows == 400
