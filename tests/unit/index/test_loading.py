"""A space on its way into memory: its pieces are read while others are taken in, and not many of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from memex.index import Ranker
from memex.index.loading import AHEAD, load
from tests.oracles.copying import pair
from tests.unit.index.rows import half, row

DATA = pair([row(number, vectors=[half([number, 1])]) for number in range(200)])


def cut(pieces: int) -> list[bytes]:
    size = -(-len(DATA) // pieces)
    return [DATA[at : at + size] for at in range(0, len(DATA), size)]


def any_size(_: int) -> None:
    pass


async def one_by_one(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.mark.parametrize("pieces", [1, 2, AHEAD, AHEAD + 1, 100])
async def test_all_pieces_are_taken_in(executor: ThreadPoolExecutor, pieces: int):
    ranker = Ranker(2)
    sizes: list[int] = []
    assert await load(ranker, one_by_one(cut(pieces)), executor, sizes.append) == len(DATA)
    assert ranker.rows == 200
    assert sizes[-1] == ranker.bytes


async def test_nothing_is_an_empty_space(executor: ThreadPoolExecutor):
    ranker = Ranker(2)
    assert await load(ranker, one_by_one([]), executor, any_size) == ranker.rows == 0


async def test_pieces_are_read_while_others_are_taken_in_as_many_as_may_wait(executor: ThreadPoolExecutor):
    ranker, busy, free = Ranker(2), Event(), Event()

    def hold() -> None:
        busy.set()
        free.wait()

    executor.submit(hold)
    busy.wait()

    async def streams() -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        for number, piece in enumerate(cut(100)):
            if number == AHEAD:
                loop.call_soon(free.set)
            assert number <= AHEAD or free.is_set()
            yield piece

    assert await load(ranker, streams(), executor, any_size) == len(DATA)
    assert ranker.rows == 200


async def test_a_size_that_is_refused_ends_the_load(executor: ThreadPoolExecutor):
    def check(size: int) -> None:
        raise OverflowError(size)

    with pytest.raises(OverflowError):
        await load(Ranker(2), one_by_one(cut(3)), executor, check)


async def test_a_fault_of_a_piece_ends_the_load(executor: ThreadPoolExecutor):
    with pytest.raises(ValueError, match="header"):
        await load(Ranker(2), one_by_one([bytes(100), *cut(20)]), executor, any_size)
    with pytest.raises(ValueError, match="ended"):
        await load(Ranker(2), one_by_one(cut(20)[:-1]), executor, any_size)
