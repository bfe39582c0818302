"""A whole space on its way into memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import msgspec

from memex._native import Loader
from memex.index.ranking import Ranker
from memex.model import IndexRow, SpaceState

AHEAD = 8
"""Pieces that may wait to be taken in: about as many as come while a segment is made."""


class Contents(msgspec.Struct, frozen=True):
    """A whole space as one snapshot of the store has it."""

    state: SpaceState
    memories: int
    """How many there are, by the space's own count."""
    vectors: int
    beginning: Sequence[IndexRow]
    """The first rows by id."""
    streams: AsyncIterator[bytes]
    """What comes after them, as `_native.Loader` takes it."""


class TooLarge(Exception):
    """A space that the budget has no room for, however much is evicted: it is answered without an index."""


def estimate(ranker: Ranker, contents: Contents) -> int:
    """The bytes that all of `contents` will take, by those that its beginning takes in `ranker`.

    Within a fifth where neither the texts nor how often they repeat changes, and rather too high: few rows share few
    terms. Far too high where later rows repeat the vectors of earlier ones, which are kept once. A whole beginning is
    exact.
    """
    rows, vectors = len(contents.beginning), sum(len(row.vectors) for row in contents.beginning)
    share = max(1.0, contents.memories / max(rows, 1))
    return int(ranker.bytes * (max(share, contents.vectors / vectors) if vectors else share))


async def load(ranker: Ranker, streams: AsyncIterator[bytes], executor: Executor, check: Callable[[int], None]) -> int:
    """Puts what comes through `streams` into a ranker that nobody reads yet; how many bytes came.

    Pieces are taken in by a thread of `executor` while the next `AHEAD` are on their way. `check` is told the ranker's
    size now and then and may raise, which ends the load.
    """
    loader, run, total = ranker.loader(), asyncio.get_running_loop().run_in_executor, 0
    taking: asyncio.Future[None] | None = None
    waiting: list[bytes] = []
    try:
        async for piece in streams:
            waiting.append(piece)
            total += len(piece)
            if taking is None or taking.done() or len(waiting) == AHEAD:
                await taken(taking, ranker, check)
                taking, waiting = run(executor, take, loader, waiting), []
        await taken(taking, ranker, check)
        if total:
            taking = run(executor, take_last, loader, waiting)
            await taken(taking, ranker, check)
    finally:
        if taking is not None:
            taking.add_done_callback(seen)
    return total


async def taken(taking: asyncio.Future[None] | None, ranker: Ranker, check: Callable[[int], None]) -> None:
    """Waits until pieces are in."""
    if taking is not None:
        await taking
        check(ranker.bytes)


def take(loader: Loader, pieces: Sequence[bytes]) -> None:
    """Puts pieces in."""
    for piece in pieces:
        loader.feed(piece)


def take_last(loader: Loader, pieces: Sequence[bytes]) -> None:
    """Puts the last pieces in, and what is left of those before."""
    take(loader, pieces)
    loader.finish()


def seen(work: asyncio.Future[Any]) -> None:
    """Takes the error of work that nobody may be waiting for any more."""
    if not work.cancelled():
        work.exception()
