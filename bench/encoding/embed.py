"""What surrounds the encoder: cache, queue, threads and Python, through `Embedder` and without HTTP.

python -m bench.encoding.embed
"""

import asyncio
import itertools
import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click
import uvloop

from bench.encoding.encoder import rate, together
from bench.encoding.engines import native
from bench.load.workload import Texts, searches
from bench.noise import watched
from bench.pairs import LEAST_PAIRS, medians, ratios
from bench.results import Result, record
from memex.embedder import Embedder, open_embedder
from memex.embedder.chunks import Chunks, open_tokenizer
from memex.embedder.encoder import Role, Tokens
from memex.embedder.models import open_model
from memex.errors import Overloaded
from memex.metrics import Metrics
from memex.settings import Embedding

CALLERS = 32
LONG = "The keeper wrote down wind, tide and every ship that passed the northern point before noon. " * 60
"""About 1,100 tokens: three chunks of the model's window."""
CROWD, ASKED, PAUSE = 600, 2_000, 0.05
ONE_BY_ONE = 500


@click.command()
@click.option("--pairs", default=LEAST_PAIRS, show_default=True)
@click.option("--seconds", default=3.0, show_default=True, help="Length of one block.")
def main(pairs: int, seconds: float) -> None:
    """Throughput beside the bare encoder, the cost of one text, a search among long writes, the time to refuse."""
    with watched() as noise:
        figures = {
            "callers_by_bare_encoder": throughput(pairs, seconds),
            "one_text": uvloop.run(one_text()),
            "search_among_long_writes": uvloop.run(among_writes(seconds)),
            "refusals": uvloop.run(refusals()),
        }
    settings = {"callers": CALLERS, "pairs": pairs, "seconds": seconds}
    record(Result("embed", "native", figures, settings, "one second of searches before each block", [noise]))


def throughput(pairs: int, seconds: float) -> dict[str, Any]:
    """Texts a second through `Embedder.query`, beside two threads that only encode the same texts' tokens."""
    blocks = [({"texts": uvloop.run(callers(seconds, seed))}, {"texts": bare(seconds)}) for seed in range(pairs)]
    embed, encoder = zip(*blocks, strict=True)
    return {"embed": medians(embed), "bare": medians(encoder), "ratio": ratios(blocks)["texts"]}


async def callers(seconds: float, seed: int) -> float:
    """CALLERS ask for a text that nobody asked for before, as soon as they have the last one's vector."""
    embedder = opened()
    texts = short_texts(seed)
    try:
        await ask_until(embedder, texts, time.perf_counter() + 1.0)
        begin = time.perf_counter()
        done = await ask_until(embedder, texts, begin + seconds)
        return done / (time.perf_counter() - begin)
    finally:
        await embedder.close()


async def ask_until(embedder: Embedder, texts: Iterator[str], end: float) -> int:
    """How many texts were embedded until `end` (of perf_counter)."""

    async def caller() -> int:
        done = 0
        while time.perf_counter() < end:
            await embedder.query(next(texts))
            done += 1
        return done

    return sum(await asyncio.gather(*(caller() for _ in range(CALLERS))))


def bare(seconds: float) -> float:
    """Two threads over batches of the same kind of text."""
    chunks = asyncio.run(tokenised(itertools.islice(short_texts(99), 512)))
    encoder, batches = native(2), [chunks[start : start + 8] for start in range(0, 512, 8)]
    return together(lambda: rate(encoder.encode, batches, seconds), 2)


async def one_text() -> dict[str, float]:
    """Milliseconds of one short text with nothing else running: all of it, the forward pass in it, and the rest.

    A pass in a loop of passes is quicker than one that a thread has to wake up for: `encoder_in_a_loop_ms` beside it.
    """
    metrics = Metrics()
    embedder, texts = open_embedder(Embedding(), 1, metrics), short_texts(7)
    for text in itertools.islice(texts, 100):
        await embedder.query(text)
    before = passes(metrics)
    whole = [await timed(embedder, text) for text in itertools.islice(texts, ONE_BY_ONE)]
    inside = (passes(metrics) - before) / ONE_BY_ONE
    await embedder.close()
    encoder = native()
    alone = [
        encode_seconds(encoder, tokens) for tokens in await tokenised(itertools.islice(short_texts(8), ONE_BY_ONE))
    ]
    return {
        "all_ms": round(1000 * statistics.median(whole), 3),
        "encoder_ms": round(1000 * inside, 3),
        "batcher_cache_python_ms": round(1000 * (statistics.fmean(whole) - inside), 3),
        "encoder_in_a_loop_ms": round(1000 * statistics.median(alone[100:]), 3),
    }


def passes(metrics: Metrics) -> float:
    """Seconds of all forward passes for searches so far, by the service's own metric."""
    return metrics.registry.get_sample_value("memex_embedding_duration_seconds_sum", {"operation": "query"}) or 0.0


async def timed(embedder: Embedder, text: str) -> float:
    """Seconds of one search's vector."""
    begin = time.perf_counter()
    await embedder.query(text)
    return time.perf_counter() - begin


def encode_seconds(encoder: Any, tokens: Tokens) -> float:
    """Seconds of one pass of one text."""
    begin = time.perf_counter()
    encoder.encode([tokens])
    return time.perf_counter() - begin


async def among_writes(seconds: float) -> dict[str, float]:
    """The latency of a searcher while CALLERS write long texts, and the longest pass that it may have to wait for."""
    embedder, texts = opened(write_queue_seconds=60.0), short_texts(3)
    longest = bounded_pass(await tokenised([LONG], Role.PASSAGE))
    stop = asyncio.Event()
    writers = [asyncio.create_task(write_long(embedder, number, stop)) for number in range(CALLERS)]
    await asyncio.sleep(1.0)
    end, latencies = time.perf_counter() + max(seconds, 10.0), []
    while time.perf_counter() < end:
        latencies.append(await timed(embedder, next(texts)))
    stop.set()
    await asyncio.gather(*writers)
    await embedder.close()
    p99 = statistics.quantiles(latencies, n=100)[98]
    return {
        "searches": len(latencies),
        "p50_ms": round(1000 * statistics.median(latencies), 2),
        "p99_ms": round(1000 * p99, 2),
        "bounded_pass_ms": round(1000 * longest, 2),
        "p99_by_bounded_pass": round(p99 / longest, 3),
    }


async def write_long(embedder: Embedder, number: int, stop: asyncio.Event) -> None:
    """One writer: texts of several chunks, each of its own."""
    for count in itertools.count():
        if stop.is_set():
            return
        await embedder.passages(f"{number} {count} {LONG}")


def bounded_pass(chunks: list[Tokens]) -> float:
    """Seconds of one pass of a full window while the other core does the same: no pass of several texts is longer."""
    encoder, tokens = native(2), chunks[0]
    found: list[float] = []

    def work() -> None:
        found.extend(encode_seconds(encoder, tokens) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.median(found)


async def refusals() -> dict[str, float]:
    """Milliseconds until a text is refused, while CROWD callers keep the queue full."""
    embedder, stop = opened(), asyncio.Event()
    crowd = [asyncio.create_task(insist(embedder, short_texts(number), stop)) for number in range(CROWD)]
    await asyncio.sleep(1.0)
    times = [
        seconds for text in itertools.islice(short_texts(CROWD), ASKED) if (seconds := await refused(embedder, text))
    ]
    stop.set()
    await asyncio.gather(*crowd)
    await embedder.close()
    if len(times) < ASKED // 10:
        raise SystemExit(f"only {len(times)} of {ASKED} texts were refused: nothing was overloaded")
    quantiles = statistics.quantiles(times, n=100)
    return {
        "asked": ASKED,
        "refused": len(times),
        "p50_ms": round(1000 * quantiles[49], 3),
        "p99_ms": round(1000 * quantiles[98], 3),
    }


async def insist(embedder: Embedder, texts: Iterator[str], stop: asyncio.Event) -> None:
    """One of the crowd: who is refused comes again after a moment."""
    while not stop.is_set():
        try:
            await embedder.query(next(texts))
        except Overloaded:
            await asyncio.sleep(PAUSE)


async def refused(embedder: Embedder, text: str) -> float:
    """Seconds until the refusal; 0 for a text that was taken."""
    begin = time.perf_counter()
    try:
        await embedder.query(text)
    except Overloaded:
        return time.perf_counter() - begin
    return 0.0


def opened(**settings: Any) -> Embedder:
    """The embedder as a service has it, with a cache that no text of these benches fills."""
    return open_embedder(Embedding(**settings), 1, Metrics())


def short_texts(seed: int) -> Iterator[str]:
    """Questions of about 13 tokens that never repeat."""
    return (str(body["query"]) for body in searches(Texts.UNIQUE, seed))


async def tokenised(texts: Iterable[str], role: Role = Role.QUERY) -> list[Tokens]:
    """As the model reads them, prefix included; every chunk of each."""
    directory = open_model("e5-small-v2")
    chunks = Chunks(open_tokenizer(directory.tokenizer), directory.card)
    return [chunk for text in texts for chunk in await chunks.split(role, text)]


if __name__ == "__main__":
    main()
