"""What the queue before the model costs: the model answers at once here, so that all of the time is the queue's."""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from memex.embedder.batcher import Batcher
from memex.embedder.encoder import Role, Tokens
from memex.embedder.lanes import Lanes, Work
from memex.embedder.vectors import Vector, Vectors
from memex.metrics import Metrics
from memex.settings import Embedding

DIMENSIONS = 384
WAITING = 32
ROUNDS = 50
TEXT_TOKENS = 18
PACE = 1e-6
"""Seconds per token of the first estimate; what is measured soon takes its place."""


class InstantEncoder:
    """Gives each text the axis that its first token names."""

    engine = "instant"
    streams = 1
    ragged = True

    def __init__(self) -> None:
        self._axes = np.eye(DIMENSIONS, dtype=np.float32)

    def encode(self, batch: Sequence[Tokens]) -> Vectors:
        """f32[len(batch), DIMENSIONS]."""
        return self._axes[[tokens[0] for tokens in batch]]


def text(number: int) -> Tokens:
    """Tokens of a text of its own."""
    return [number] * TEXT_TOKENS


@pytest.fixture
def batcher(loop: asyncio.AbstractEventLoop) -> Iterator[Batcher]:
    """Started, and closed at the end."""
    started = Batcher(InstantEncoder(), Embedding(), Metrics())
    started.start(PACE)
    yield started
    loop.run_until_complete(started.close())


def axes(vectors: Sequence[tuple[Vector, ...]]) -> list[int]:
    """Which axis each answer of one vector is."""
    return [int(vector.argmax()) for (vector,) in vectors]


def test_50_one_by_one(benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, batcher: Batcher) -> None:
    """One text after another: to the encoder's thread and back, by itself each time."""
    benchmark.group = "batcher"
    benchmark.extra_info["per"] = ROUNDS

    async def work() -> list[tuple[Vector, ...]]:
        return [await batcher.embed(Role.QUERY, [text(number)]) for number in range(ROUNDS)]

    assert axes(benchmark(lambda: loop.run_until_complete(work()))) == list(range(ROUNDS))


def test_32_at_once(benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, batcher: Batcher) -> None:
    """32 callers at once, each with one text: what they share."""
    benchmark.group = "batcher"
    benchmark.extra_info["per"] = WAITING

    async def work() -> list[tuple[Vector, ...]]:
        return await asyncio.gather(*(batcher.embed(Role.QUERY, [text(number)]) for number in range(WAITING)))

    assert axes(benchmark(lambda: loop.run_until_complete(work()))) == list(range(WAITING))


def test_lanes_of_32(benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop) -> None:
    """32 texts in and, as one batch, out, without threads and callers."""
    benchmark.group = "batcher"
    benchmark.extra_info["per"] = WAITING
    lanes = Lanes(ragged=True)
    works = [Work(Role.QUERY, text(number), loop.create_future(), queued=0.0) for number in range(WAITING)]

    def pass_through() -> list[Work]:
        lanes.add(works)
        return lanes.take(WAITING * TEXT_TOKENS)

    assert benchmark(pass_through) == works
    assert lanes.tokens == 0
