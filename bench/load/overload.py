"""What a multiple of the capacity does: how much is answered in time, how fast the rest is refused, what comes after.

python -m bench.load.overload --factor 3
python -m bench.load.overload --factor 2 --texts unique --capacity 150
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import click
import msgspec
import psutil
import uvloop

from bench.load import oha
from bench.load.ladder import climb
from bench.load.oha import Answer
from bench.load.open_loop import (
    ACCEPTED,
    Bodies,
    Load,
    Measured,
    batches,
    figures,
    milliseconds,
    prepared,
    quantile,
    run,
    run_batches,
    verify_counts,
    workload,
)
from bench.load.subjects import started
from bench.load.tenants import Rows
from bench.load.workload import Texts
from bench.machine import release_build
from bench.noise import Noise
from bench.results import Result, record
from bench.services.running import Running

HELD = 2.0
"""Clients wait longer under overload: connections for requests that are held for two seconds."""
AFTERWARDS = 0.5
"""Share of the capacity that comes when the overload is over."""
MEMORY_SECONDS = 0.25


class Overload(msgspec.Struct):
    """The two blocks, and the service's memory around the first."""

    capacity: float
    during: Measured
    afterwards: Measured
    memory: "Memory"


class Memory(msgspec.Struct):
    """Resident MiB of the service's own processes."""

    before: float
    peak: float


async def overload(running: Running, load: Load, bodies: Bodies, factor: float, seconds_after: float) -> Overload:
    """`load` is the capacity: a multiple of it, and from the last intended start on half of it."""
    much = msgspec.structs.replace(load, rate=factor * load.rate, held=HELD)
    little = msgspec.structs.replace(load, rate=AFTERWARDS * load.rate, seconds=seconds_after)
    first, second = (batches(running.url, one, bodies) for one in (much, little))

    async def later() -> Measured:
        await asyncio.sleep(load.seconds)
        return await run_batches(running, little, bodies, second)

    async with watching(running) as memory:
        during, afterwards = await asyncio.gather(run_batches(running, much, bodies, first), later())
    return Overload(load.rate, during, afterwards, memory)


@asynccontextmanager
async def watching(running: Running) -> AsyncIterator[Memory]:
    """The peak of what runs inside."""
    memory = Memory(before=resident_mib(running), peak=0.0)

    async def look() -> None:
        while True:
            memory.peak = max(memory.peak, resident_mib(running))
            await asyncio.sleep(MEMORY_SECONDS)

    task = asyncio.create_task(look())
    try:
        yield memory
    finally:
        task.cancel()


def resident_mib(running: Running) -> float:
    """RSS of the service's processes that still live."""
    total = 0
    for process in running.service_processes():
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return round(total / 2**20, 1)


def summary(found: Overload) -> dict[str, Any]:
    """The overload's figures, what they are of the capacity, and what came after."""
    during, afterwards = figures(found.during), figures(found.afterwards)
    # The block afterwards begins before the last late answer: their CPU time cannot be told apart.
    for name in ("cpu_ms_service", "cpu_ms_postgres", "cpu_ms_both", "reads", "writes"):
        during.pop(name)
    after = [answer for sent in found.afterwards.sent for answer in sent.answers]
    seen = found.during.seen
    return {
        "capacity_per_second": round(found.capacity, 1),
        "goodput_of_capacity": round(during["goodput_per_second"] / found.capacity, 3),
        **during,
        "refusals_looked_at": seen.refused,
        "refusals_without_retry_after": seen.without_retry_after,
        "recovered_after_s": recovered_after(after, found.afterwards.load),
        "afterwards": {name: afterwards.get(name) for name in ("offered_per_second", "p50_ms", "p99_ms", "errors")},
        "memory_before_mib": found.memory.before,
        "memory_peak_mib": found.memory.peak,
        "memory_growth_mib": round(found.memory.peak - found.memory.before, 1),
    }


def recovered_after(answers: list[Answer], load: Load) -> int | None:
    """Whole seconds of the block before the first one whose requests were all accepted with p99 within the SLO.

    None if there is none. Requests belong to the second of their intended start.
    """
    seconds: defaultdict[int, list[Answer]] = defaultdict(list)
    for answer in answers:
        seconds[math.floor(answer.intended)].append(answer)
    good = (second for second in sorted(seconds) if within(seconds[second], load.slo_ms))
    return next(good, None)


def within(answers: list[Answer], slo_ms: float) -> bool:
    """Whether all were accepted and the 99th percentile is within the SLO."""
    p99 = quantile(sorted(answer.latency for answer in answers), 0.99)
    return milliseconds(p99) <= slo_ms and all(answer.status in ACCEPTED for answer in answers)


@click.command()
@click.option("--factor", default=3.0, show_default=True, help="Times the capacity.")
@click.option("--capacity", type=float, help="Requests per second [default: found by a short ladder].")
@click.option("--seconds", default=15.0, show_default=True, help="Of the overload.")
@click.option("--seconds-after", default=10.0, show_default=True, help="Of half the capacity afterwards.")
@click.option("--warm-up", default=3.0, show_default=True, help="Seconds at the capacity, before anything counts.")
@workload
def main(factor: float, capacity: float | None, seconds_after: float, warm_up: float, **options: Any) -> None:
    """A multiple of the capacity, then half of it."""
    release_build()
    oha.installed()
    service, rows = options.pop("service"), options.pop("rows")
    texts = Texts(options.pop("texts"))
    load = Load(rate=capacity or 0.0, **options)

    async def measure() -> Overload:
        bodies = await prepared(running, texts, Rows(rows))
        at = msgspec.structs.replace(load, rate=capacity or await capacity_of(running, load, bodies))
        await run(running, msgspec.structs.replace(at, seconds=warm_up), bodies)
        found = await overload(running, at, bodies, factor, seconds_after)
        await verify_counts(running.url, bodies)
        return found

    with started(service) as running:
        found = uvloop.run(measure())
    settings = {"service": service, "texts": texts, "rows": rows, "factor": factor, "afterwards": AFTERWARDS}
    settings |= msgspec.structs.asdict(found.during.load)
    variant = f"{service}-{texts}-{rows}-{load.reads}-x{factor:g}"
    # What changes from half to half is the subject here, no disturbance.
    noise = [Noise(n.seconds, n.steal_percent) for n in (found.during.noise, found.afterwards.noise)]
    record(Result("overload", variant, summary(found), settings, f"{warm_up:g} s at the capacity", noise))


async def capacity_of(running: Running, load: Load, bodies: Bodies) -> float:
    """The highest rate within the SLO, by rungs of five seconds."""
    found = await climb(running, msgspec.structs.replace(load, rate=50.0, seconds=5.0), bodies, 1.0, 180.0)
    if not found.capacity:
        raise SystemExit("no rate is within the SLO: there is no capacity to multiply")
    return found.capacity


if __name__ == "__main__":
    main()
