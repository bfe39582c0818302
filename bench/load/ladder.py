"""The highest arrival rate at which 99 of 100 requests are answered within the SLO.

python -m bench.load.ladder
python -m bench.load.ladder --texts unique --rows skewed
python -m bench.load.ladder --service reference
"""

import time
from collections.abc import Sequence
from typing import Any

import click
import msgspec
import uvloop

from bench.load import oha
from bench.load.open_loop import Bodies, Load, Measured, figures, prepared, run, verify_counts, workload
from bench.load.subjects import started
from bench.load.tenants import Rows
from bench.load.workload import Texts
from bench.machine import release_build
from bench.noise import Noise
from bench.results import Result, record
from bench.services.running import Running

ACHIEVED = 0.98
"""Share of the offered rate below which a rung has failed."""
TOLERANCE = 0.05
LEAST_RATE = 1.0


class Rung(msgspec.Struct, frozen=True):
    """One rate, and whether the service held it."""

    rate: float
    held: bool


class Climb(msgspec.Struct):
    """A search: its rungs in the order they were tried, with what each gave."""

    rungs: list[Rung] = []
    figures: list[dict[str, Any]] = []
    noise: list[Noise] = []
    finished: bool = True
    """False where the time was over before the bracket was narrow."""

    @property
    def capacity(self) -> float:
        """The highest rate that was held, 0 if none was."""
        return bracket(self.rungs)[0]


def bracket(rungs: Sequence[Rung]) -> tuple[float, float | None]:
    """The highest rate held below every failure, and the lowest that failed; None if none did."""
    failed = min((rung.rate for rung in rungs if not rung.held), default=None)
    held = [rung.rate for rung in rungs if rung.held and (failed is None or rung.rate < failed)]
    return max(held, default=0.0), failed


def following(rungs: Sequence[Rung], first: float) -> float | None:
    """The next rate to try: double until one fails (halve until one holds), then bisect to 5 %. None at the end."""
    held, failed = bracket(rungs)
    if not rungs:
        return first
    if failed is None:
        return 2 * held
    if not held:
        return failed / 2 if failed > LEAST_RATE else None
    return (held + failed) / 2 if failed > held * (1 + TOLERANCE) else None


def holds(found: dict[str, Any], slo_ms: float) -> bool:
    """Whether a block's figures are within the SLO, and nearly everything that was offered was answered with a 2xx."""
    p99 = found.get("p99_ms")
    enough = found["achieved_per_second"] >= ACHIEVED * found["offered_per_second"]
    return p99 is not None and p99 <= slo_ms and enough


async def climb(running: Running, load: Load, bodies: Bodies, warm_up: float, budget: float) -> Climb:
    """Goes up from the load's rate, each rung after a warm-up at it; no rung begins after `budget` seconds."""
    found, end = Climb(), time.perf_counter() + budget
    while (rate := following(found.rungs, load.rate)) is not None:
        if time.perf_counter() > end:
            found.finished = False
            break
        rung = msgspec.structs.replace(load, rate=rate)
        await run(running, msgspec.structs.replace(rung, seconds=warm_up), bodies)
        note(found, await run(running, rung, bodies))
    return found


def note(found: Climb, block: Measured) -> None:
    """Adds a rung, and says so."""
    given, load = figures(block), block.load
    rung = Rung(load.rate, holds(given, load.slo_ms))
    found.rungs.append(rung)
    found.figures.append({"held": rung.held, **given})
    found.noise.append(block.noise)
    achieved, p99 = given["achieved_per_second"], given.get("p99_ms")
    verdict = "held" if rung.held else "failed"
    click.echo(f"{load.rate:8.1f}/s offered, {achieved:8.1f}/s achieved, p99 {p99} ms: {verdict}", err=True)


def summary(found: Climb) -> dict[str, Any]:
    """The result, the figures at it, and every rung."""
    best = next((f for r, f in zip(found.rungs, found.figures, strict=True) if r.rate == found.capacity), {})
    return {
        "highest_per_second": round(found.capacity, 1),
        "lowest_failed_per_second": bracket(found.rungs)[1],
        "finished": found.finished,
        "at_highest": best,
        "rungs": found.figures,
    }


@click.command()
@click.option("--first", default=50.0, show_default=True, help="Requests per second of the first rung.")
@click.option("--seconds", default=10.0, show_default=True, help="Of each rung.")
@click.option("--warm-up", default=3.0, show_default=True, help="Seconds before each rung, at its rate.")
@click.option("--budget", default=600.0, show_default=True, help="No rung begins after so many seconds.")
@workload
def main(first: float, seconds: float, warm_up: float, budget: float, **options: Any) -> None:
    """Doubles the rate until the 99th percentile or the achieved rate fails, then bisects to 5 %."""
    release_build()
    oha.installed()
    service, rows = options.pop("service"), options.pop("rows")
    texts = Texts(options.pop("texts"))
    load = Load(rate=first, seconds=seconds, **options)

    async def measure() -> Climb:
        bodies = await prepared(running, texts, Rows(rows))
        found = await climb(running, load, bodies, warm_up, budget)
        await verify_counts(running.url, bodies)
        return found

    with started(service) as running:
        found = uvloop.run(measure())
    settings = {"service": service, "texts": texts, "rows": rows, **msgspec.structs.asdict(load)}
    variant = f"{service}-{texts}-{rows}-{load.reads}"
    record(Result("ladder", variant, summary(found), settings, f"{warm_up:g} s before each rung", found.noise))


if __name__ == "__main__":
    main()
