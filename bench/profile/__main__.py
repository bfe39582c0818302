"""What a service does with its time under one load.

python -m bench.profile --texts unique
"""

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
import msgspec
import uvloop
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.load.answers import verify
from bench.load.block import costs, halves, rates
from bench.load.closed_loop import Plan, Tally, connected, load
from bench.load.seeding import seed
from bench.load.subjects import service_option, started, texts_option
from bench.machine import release_build
from bench.noise import Noise, watched
from bench.profile.native import Native, counted
from bench.profile.python import Profile, spied
from bench.results import Result, record
from bench.services.running import Running

# The load outlasts the sampling, which takes a moment to begin.
BEYOND = 1.0
SHOWN = 12


class Profiled(msgspec.Struct, frozen=True):
    """Both profiles of one load, each of its own stretch of time."""

    figures: dict[str, float]
    """Of the stretch that perf counted, which hardly slows the service; py-spy does."""
    native: Native | None
    python: Profile
    noise: Noise


@click.command()
@texts_option
@service_option
@click.option("--connections", type=click.IntRange(min=1), default=32, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="For each of the two profiles.",
)
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds before anything counts.")
def main(service: str, **chosen: object) -> None:
    """Own time by layer and by function, of Python code (py-spy) and of all code (perf)."""
    release_build()
    plan = msgspec.convert(chosen, Plan)
    with started(service) as running, tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        found = uvloop.run(profiled(running, plan, Path(folder)))
    show(found)
    figures = {"native": found.native, "python": found.python} | found.figures
    settings = {"service": service} | msgspec.to_builtins(plan)
    result = Result(
        "profile", f"{service}-{plan.texts}", figures, settings, f"{plan.warm_up:g} s of the same load", [found.noise]
    )
    record(result)


async def profiled(running: Running, plan: Plan, folder: Path) -> Profiled:
    """Seeds, warms up, samples twice, and checks a sample of the answers."""
    tally = Tally(await seed(running.url))
    await driven(running, plan, 0, plan.warm_up, tally)
    figures, native, noise = await counted_load(running, plan, tally, folder)
    work = partial(driven, running, plan, 2, plan.seconds + BEYOND, tally)
    python = await spied(running.process.pid, plan.seconds, folder, work)
    figures["answers_checked"] = await verify(running.url, tally.truth, tally.kept)
    return Profiled(figures, native, python, noise)


async def driven(running: Running, plan: Plan, stretch: int, seconds: float, tally: Tally) -> None:
    """One stretch of the load, by virtual users of its own: between two stretches a service may hang up on them."""
    async with connected(running.url, msgspec.structs.replace(plan, first=stretch * plan.connections)) as users:
        await load(users, seconds, tally)


async def counted_load(
    running: Running, plan: Plan, tally: Tally, folder: Path
) -> tuple[dict[str, float], Native | None, Noise]:
    """The first stretch: rates and costs of the service, and perf's profile."""
    tally.restart()
    before, begin, own = running.cpu(), time.perf_counter(), time.process_time()
    pids = [process.pid for process in (*running.service_processes(), *running.postgres_processes())]
    with watched() as noise:
        native = await counted(pids, plan.seconds, folder, partial(driven, running, plan, 1, plan.seconds, tally))
    used, own = running.cpu().since(before), time.process_time() - own
    noise.halves_percent = halves(tally.done, begin)
    tally.bounded()
    figures = rates(tally.done, begin)
    return figures | costs(used, own, int(figures["requests"])), native, noise


def show(found: Profiled) -> None:
    """Tables of layers and of the functions that cost most."""
    console = Console()
    if found.native:
        rows = [(f"{own.name} ({own.program})", own.library, own.own) for own in found.native.symbols[:SHOWN]]
        console.print(table("All code, percent of CPU time", list(found.native.layers.items()), rows))
    functions = [(one.name, one.file, one.own) for one in found.python.functions[:SHOWN]]
    console.print(table("Python threads, percent of busy time", list(found.python.layers.items()), functions))


def table(title: str, layers: Sequence[tuple[str, float]], functions: Sequence[tuple[str, str, float]]) -> Table:
    """Layers above, functions below."""
    made = Table("what", "where", "percent", title=title)
    for layer, share in layers:
        made.add_row(layer, "", f"{share:.1f}")
    made.add_section()
    for name, place, share in functions:
        made.add_row(escape(name), escape(place), f"{share:.1f}")
    return made


if __name__ == "__main__":
    main()
