"""Reads and writes at a fixed arrival rate, whatever the service makes of them; every latency from the intended start.

python -m bench.load.open_loop --rate 200 --seconds 30
python -m bench.load.open_loop --rate 150 --texts unique --reads 100
python -m bench.load.open_loop --rate 100 --service reference
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import click
import msgspec
import uvloop

from bench.load import oha
from bench.load.answers import Body, WrongAnswer, counted_of
from bench.load.block import Lookups, costs
from bench.load.client import Connection
from bench.load.oha import Answer, Sent, Stream
from bench.load.probe import Seen, probing
from bench.load.subjects import service_option, started
from bench.load.tenants import Rows, Tenant, busy, seed
from bench.load.workload import STREAMS, Texts, searches, writes
from bench.machine import release_build
from bench.noise import Noise, halves_percent, watched
from bench.results import Result, record
from bench.services.running import Cpu, Running

SEARCH, WRITE = "/v1/memories/search", "/v1/memories"
ACCEPTED = range(200, 300)
Kind = Callable[[Texts, int], Iterator[dict[str, object]]]
"""`searches` or `writes` of the workload."""
HELD = 0.4
"""Seconds for which requests may be held before one has to wait for a connection."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One block."""

    rate: float
    """Requests per second."""
    seconds: float
    reads: int = 75
    """Searches in percent; the rest are writes."""
    slo_ms: float = 100.0
    held: float = HELD


class Bodies:
    """The bodies of a run. Its blocks take them in turn, so that unique texts stay unique from block to block.

    It also knows how many memories there have to be.
    """

    def __init__(self, texts: Texts, tenants: list[Tenant]) -> None:
        """`tenants` ask and write as often as they are busy."""
        self.texts = texts
        self.tenants = tenants
        self.stored = sum(tenant.rows for tenant in tenants)
        self.unsure = 0
        """Writes that came to no answer."""
        self.reads = map(msgspec.json.encode, addressed(searches, texts, tenants, range(STREAMS - 1)))
        self.writes = map(msgspec.json.encode, addressed(writes, texts, tenants, range(STREAMS - 1)))
        self.questions = addressed(searches, texts, tenants, [STREAMS - 1])

    @property
    def spread(self) -> int:
        """How many bodies the generator wants for each request, since it draws at random."""
        return oha.SPREAD if self.texts is Texts.UNIQUE else 1

    def wrote(self, writes: Sent) -> None:
        """What became of a block's writes."""
        self.stored += sum(answer.status in ACCEPTED for answer in writes.answers)
        self.unsure += sum(writes.broken.values())


class Batch(msgspec.Struct, frozen=True):
    """What one stream of a block sends, made before any clock runs: making it takes seconds."""

    stream: Stream
    bodies: list[bytes]
    spread: int

    async def send(self) -> Sent:
        """Sends it to its end; nothing for a rate of 0."""
        return await oha.send(self.stream, self.bodies, self.spread) if self.bodies else Sent(0, [], [], {})


Batches = tuple[Batch, Batch]
"""Searches and writes."""


class Measured(msgspec.Struct):
    """What one block gave."""

    load: Load
    reads: Sent
    writes: Sent
    cpu: Cpu
    cache: dict[str, float]
    """The hit rate of the service's embedding cache, where it tells."""
    seen: Seen
    noise: Noise

    @property
    def sent(self) -> tuple[Sent, Sent]:
        """Both streams."""
        return self.reads, self.writes


def addressed(kind: Kind, texts: Texts, tenants: list[Tenant], numbers: Sequence[int]) -> Iterator[Body]:
    """What the workload's virtual users send, one user after the other, addressed to tenants."""
    bodies = chain.from_iterable(kind(texts, number) for number in numbers)
    for tenant, body in zip(busy(tenants, numbers[-1]), bodies, strict=False):
        yield body | {"agent_id": tenant.agent_id, "user_id": tenant.user_id}


def batches(url: str, load: Load, bodies: Bodies) -> Batches:
    """Both streams of a block."""
    return (
        batch(url + SEARCH, load, load.reads, bodies.reads, bodies.spread),
        batch(url + WRITE, load, 100 - load.reads, bodies.writes, bodies.spread),
    )


def batch(url: str, load: Load, percent: int, bodies: Iterable[bytes], spread: int) -> Batch:
    """One stream, `percent` of the load."""
    rate = load.rate * percent / 100
    stream = Stream(url, rate, load.seconds, oha.connections(rate, load.held))
    return Batch(stream, list(islice(bodies, stream.requests * spread if rate else 0)), spread)


async def run(running: Running, load: Load, bodies: Bodies) -> Measured:
    """Sends one block and waits for its last answer."""
    return await run_batches(running, load, bodies, batches(running.url, load, bodies))


async def run_batches(running: Running, load: Load, bodies: Bodies, made: Batches) -> Measured:
    """The same of a block that is made already."""
    before, lookups = running.cpu(), Lookups.of(running.url)
    async with probing(running.url, bodies.questions) as seen:
        with watched() as noise:
            sent = await asyncio.gather(*(one.send() for one in made))
    ends = [answer.end for each in sent for answer in each.answers]
    noise.halves_percent = halves_percent(ends, 0.0, load.seconds)
    cache = Lookups.of(running.url).rate_since(lookups)
    reads, writes = sent
    bodies.wrote(writes)
    return Measured(load, reads, writes, running.cpu().since(before), cache, seen, noise)


async def verify_counts(url: str, bodies: Bodies) -> None:
    """WrongAnswer unless as many memories are counted, of all tenants together, as were acknowledged."""
    async with await Connection.open(url) as connection:
        counted = sum([await counted_of(connection, (one.agent_id, one.user_id)) for one in bodies.tenants])
    if not 0 <= counted - bodies.stored <= bodies.unsure:
        raise WrongAnswer(f"{bodies.stored} memories were acknowledged, {counted} are counted")


def figures(block: Measured) -> dict[str, Any]:
    """All figures of a block. Latencies in ms, of accepted (2xx) requests unless said otherwise."""
    load, answers = block.load, [answer for sent in block.sent for answer in sent.answers]
    accepted = [answer for answer in answers if answer.status in ACCEPTED]
    refused = [answer for answer in answers if answer.status not in ACCEPTED]
    slo, requests = load.slo_ms / 1000, sum(sent.requests for sent in block.sent)
    own = sum(sent.cpu for sent in block.sent)
    return {
        "offered_per_second": round(requests / load.seconds, 1),
        # Late ones count until the SLO after the last intended start.
        "achieved_per_second": round(sum(a.end <= load.seconds + slo for a in accepted) / load.seconds, 1),
        "goodput_per_second": round(sum(a.latency <= slo for a in accepted) / load.seconds, 1),
        "requests": requests,
        **percentiles(accepted),
        "reads": percentiles([a for a in block.reads.answers if a.status in ACCEPTED]),
        "writes": percentiles([a for a in block.writes.answers if a.status in ACCEPTED]),
        "errors": errors(block),
        "time_to_refuse": percentiles(refused),
        **costs(block.cpu, own, len(accepted) + block.seen.checked),
        **block.cache,
        "generator_late_ms": late(block),
        "answers_checked": block.seen.checked,
    }


def percentiles(answers: list[Answer]) -> dict[str, float]:
    """Nearest-rank percentiles of the latency in ms; empty without answers."""
    latencies = sorted(answer.latency for answer in answers)
    ranks = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
    return {name: milliseconds(quantile(latencies, share)) for name, share in ranks.items()} if latencies else {}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The nearest rank: the least value that `share` of all do not exceed."""
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def milliseconds(seconds: float) -> float:
    """Rounded to what is measurable."""
    return round(1000 * seconds, 2)


def errors(block: Measured) -> dict[str, int]:
    """Requests that were not accepted, by status or by what broke."""
    found = Counter(str(a.status) for sent in block.sent for a in sent.answers if a.status not in ACCEPTED)
    for sent in block.sent:
        found.update(sent.broken)
    return dict(found)


def late(block: Measured) -> dict[str, float]:
    """By how much the generator handed requests out late: part of every latency."""
    behind = sorted(instant for sent in block.sent for instant in sent.late)
    return {"p50": milliseconds(quantile(behind, 0.5)), "p99": milliseconds(quantile(behind, 0.99))} if behind else {}


async def prepared(running: Running, texts: Texts, rows: Rows) -> Bodies:
    """The bodies of a load on freshly seeded tenants."""
    begin = time.perf_counter()
    tenants = await seed(running, rows)
    total = sum(tenant.rows for tenant in tenants)
    click.echo(f"{total:,} memories of {len(tenants)} tenants in {time.perf_counter() - begin:.1f} s", err=True)
    return Bodies(texts, tenants)


def workload(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every open-loop command has."""
    kinds, sizes = [kind.value for kind in Texts], [size.value for size in Rows]
    options = (
        service_option,
        click.option("--texts", type=click.Choice(kinds), default=Texts.REPEATED.value, show_default=True),
        click.option("--rows", type=click.Choice(sizes), default=Rows.SHAPE.value, show_default=True),
        click.option("--reads", type=click.IntRange(0, 100), default=75, show_default=True, help="Percent."),
        click.option("--slo-ms", default=100.0, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.option("--rate", type=float, required=True, help="Requests per second, reads and writes together.")
@click.option("--seconds", default=30.0, show_default=True)
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds before anything counts, at the same rate.")
@workload
def main(rate: float, seconds: float, warm_up: float, **options: Any) -> None:
    """One block at one rate."""
    release_build()
    oha.installed()
    service, rows = options.pop("service"), options.pop("rows")
    texts = Texts(options.pop("texts"))
    load = Load(rate=rate, seconds=seconds, **options)
    with started(service) as running:
        block = uvloop.run(warmed(running, load, texts, Rows(rows), warm_up))
    settings = {"service": service, "texts": texts, "rows": rows, **msgspec.structs.asdict(load)}
    variant = f"{service}-{texts}-{rows}-{load.reads}-{rate:g}"
    record(Result("open-loop", variant, figures(block), settings, f"{warm_up:g} s at the same rate", [block.noise]))


async def warmed(running: Running, load: Load, texts: Texts, rows: Rows, warm_up: float) -> Measured:
    """Seeds, warms up, measures, and counts what is stored."""
    bodies = await prepared(running, texts, rows)
    await run(running, msgspec.structs.replace(load, seconds=warm_up), bodies)
    block = await run(running, load, bodies)
    await verify_counts(running.url, bodies)
    return block


if __name__ == "__main__":
    main()
