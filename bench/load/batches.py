"""Many memories by one request: beside what the embedder alone does, and with vectors that the caller has.

python -m bench.load.batches
"""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import click
import msgspec
import numpy as np
import uvloop

from bench.load.answers import WrongAnswer
from bench.load.client import Connection
from bench.load.sentences import STATEMENT
from bench.load.subjects import started
from bench.machine import release_build
from bench.noise import Noise, watched
from bench.pairs import LEAST_PAIRS, Figures, compare, medians
from bench.results import Result, record
from bench.services.running import Running
from memex.embedder import open_embedder
from memex.metrics import Metrics
from memex.settings import Embedding

LINES = {"Content-Type": "application/x-ndjson"}
WRITER = {"agent_id": "load-agent", "user_id": "load-user"}
WARM_UP = 512
CALLERS = 128
"""Texts that the embedder alone has to work on at once: as many as a batch gives it."""
QUEUE_SECONDS = 600.0
STEP = 7919
"""Texts that follow one another are not alike in all words but one."""


@click.command()
@click.option("--rows", type=click.IntRange(1, 100_000), default=10_000, show_default=True)
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=LEAST_PAIRS, show_default=True)
def main(rows: int, pairs: int) -> None:
    """Memories a second of one NDJSON request on a fresh service, ABAB with the embedder alone; then with vectors."""
    release_build()
    noise: list[Noise] = []
    comparison = compare(partial(stored, texts, rows, noise), partial(embedded, rows, noise), pairs)
    ready = [stored(with_vectors, rows, noise) for _ in range(pairs)]
    figures = {
        "texts": medians(comparison.first),
        "embedder_alone": medians(comparison.second),
        "texts_by_embedder": msgspec.to_builtins(comparison.ratios["rows_per_second"]),
        "with_vectors": medians(ready),
    }
    warm_up = f"{WARM_UP} memories of another user"
    record(Result("batches", f"memex-{rows}", figures, {"rows": rows, "pairs": pairs}, warm_up, noise))


def stored(kind: Any, rows: int, noise: list[Noise]) -> Figures:
    """One block on a service of its own; every memory is there at the end."""
    with started("memex") as running:
        figures = uvloop.run(measure(running, list(kind(rows + WARM_UP)), noise))
    click.echo(f"{kind.__name__}: {figures['rows_per_second']:g} a second", err=True)
    return figures


async def measure(running: Running, items: list[dict[str, Any]], noise: list[Noise]) -> Figures:
    """The last items, after the first ones have been another user's."""
    warm, body = lines(items[:WARM_UP], "warm-up"), lines(items[WARM_UP:], WRITER["user_id"])
    rows = len(items) - WARM_UP
    async with await Connection.open(running.url) as connection:
        await connection.post("/v1/memories/batch", warm, LINES)
        before = running.cpu()
        with watched() as seen:
            begin = time.perf_counter()
            _, answer = await connection.post("/v1/memories/batch", body, LINES)
            seconds = time.perf_counter() - begin
        used = running.cpu().since(before)
        noise.append(seen)
        _, count = await connection.get(f"/v1/memories/count?agent_id={WRITER['agent_id']}&user_id={WRITER['user_id']}")
    if msgspec.json.decode(count)["count"] != rows:
        raise WrongAnswer(f"not all of {rows} memories were stored: {answer[:200]!r}")
    costs = {f"cpu_us_{name}": round(1000 * value, 1) for name, value in used.per(rows).items()}
    return {"rows_per_second": round(rows / seconds, 1), "megabytes": round(len(body) / 1e6, 1)} | costs


def embedded(rows: int, noise: list[Noise]) -> Figures:
    """The same texts through the embedder alone."""
    rate = uvloop.run(embed([item["content"] for item in texts(rows + WARM_UP)], noise))
    click.echo(f"embedder alone: {rate:g} a second", err=True)
    return {"rows_per_second": rate}


async def embed(contents: list[str], noise: list[Noise]) -> float:
    """Texts a second with CALLERS at once."""
    embedder = open_embedder(Embedding(write_queue_seconds=QUEUE_SECONDS), 1, Metrics())
    try:
        await embed_all(embedder, contents[:WARM_UP])
        begin = time.perf_counter()
        with watched() as seen:
            await embed_all(embedder, contents[WARM_UP:])
        noise.append(seen)
        return round((len(contents) - WARM_UP) / (time.perf_counter() - begin), 1)
    finally:
        await embedder.close()


async def embed_all(embedder: Any, contents: list[str]) -> None:
    """Each text once."""
    waiting = iter(contents)

    async def caller() -> None:
        for content in waiting:
            await embedder.passages(content)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


def texts(count: int) -> Iterator[dict[str, Any]]:
    """Short memories, no two alike."""
    for number in range(count):
        yield WRITER | {"content": STATEMENT.text(number * STEP % STATEMENT.size)}


def with_vectors(count: int) -> Iterator[dict[str, Any]]:
    """The same with vectors: random directions, six decimals of each number."""
    directions = np.random.default_rng(1).standard_normal((count, 384))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for item, vector in zip(texts(count), directions.round(6), strict=True):
        yield item | {"embedding": vector.tolist()}


def lines(items: list[dict[str, Any]], user_id: str) -> bytes:
    """One item a line."""
    return b"\n".join(msgspec.json.encode(item | {"user_id": user_id}) for item in items)


if __name__ == "__main__":
    main()
