"""The embedder's memory does not grow with the texts that go through it, whatever their lengths."""

import asyncio
import itertools
import random
from collections.abc import Iterator

import psutil
import pytest

from memex.embedder import Embedder, open_embedder
from memex.metrics import Metrics
from memex.settings import Embedding, Engine
from tests.fakes import PATIENCE

CALLERS = 16
MIB = 2**20
# Full after some 1,000 texts: what grows after that is a leak.
CACHE = 2 * MIB
WORDS = ["harbour", "kettle", "lantern", "moss", "quartz", "saddle", "umbrella", "walnut", "雨", "дождь", "ชา"]


def texts(seed: int) -> Iterator[str]:
    """Mostly short, one in fifty of several hundred words, no two alike."""
    chooser = random.Random(seed)  # noqa: S311 - repeatable is what counts
    for number in itertools.count():
        words = chooser.randint(200, 700) if number % 50 == 49 else chooser.randint(1, 24)
        yield f"{number} " + " ".join(chooser.choices(WORDS, k=words))


async def embed(embedder: Embedder, source: Iterator[str], count: int) -> None:
    """By several callers at once, searches and writes in turn."""
    left = itertools.islice(source, count)

    async def caller() -> None:
        for number, text in enumerate(left):
            await (embedder.passages(text) if number % 2 else embedder.query(text))

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def grown(engine: Engine, before: int, after: int) -> float:
    """MiB between the first `before` texts and the `after` next ones."""
    settings = Embedding(
        engine=engine, cache_bytes=CACHE, search_queue_seconds=PATIENCE, write_queue_seconds=PATIENCE, streams=2
    )
    embedder, process, source = open_embedder(settings, 1, Metrics()), psutil.Process(), texts(1)
    await embed(embedder, source, before)
    begin = process.memory_info().rss
    await embed(embedder, source, after)
    end = process.memory_info().rss
    await embedder.close()
    return float(end - begin) / MIB


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_memory_is_flat_over_a_hundred_thousand_texts():
    assert await grown(Engine.NATIVE, 10_000, 100_000) < 16


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_memory_is_flat_over_ten_thousand_texts_with_onnxruntime():
    assert await grown(Engine.ONNXRUNTIME, 3_000, 10_000) < 24


async def test_memory_is_flat_over_some_thousand_texts():
    assert await grown(Engine.NATIVE, 1_200, 1_500) < 12
