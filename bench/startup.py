"""Cold start with data present, memory at rest, and CPU when nobody asks.

python -m bench.startup
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import click
import psutil

from bench.load.seeding import seed
from bench.machine import release_build
from bench.noise import watched
from bench.results import Result, record
from bench.services.memex import memex
from bench.services.running import Running


@click.command()
@click.option("--starts", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--idle-seconds", default=30.0, show_default=True)
def main(starts: int, idle_seconds: float) -> None:
    """Seconds from the process to the first 200 of /readyz, RSS and idle CPU of service and PostgreSQL."""
    release_build()
    with watched() as noise, tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        figures = first_start(Path(folder)) | later_starts(Path(folder), starts, idle_seconds)
    settings = {"starts": starts, "idle_seconds": idle_seconds}
    warm_up = "the first start, which makes the database, and 1,000 writes"
    record(Result("startup", "memex", figures, settings, warm_up, [noise]))


def first_start(home: Path) -> dict[str, object]:
    """The start that makes the database, which is then filled."""
    with memex(home) as running:
        asyncio.run(seed(running.url))
        return {"first_start_s": round(running.started_in, 2)}


def later_starts(home: Path, starts: int, idle_seconds: float) -> dict[str, object]:
    """Starts on the same data; the last one is left alone to see what it needs at rest."""
    seconds: list[float] = []
    rest: dict[str, object] = {}
    while len(seconds) < starts:
        with memex(home) as running:
            seconds.append(round(running.started_in, 2))
            if len(seconds) == starts:
                rest = at_rest(running, idle_seconds)
    return {"start_s": seconds, "start_median_s": round(statistics.median(seconds), 2)} | rest


def at_rest(running: Running, seconds: float) -> dict[str, object]:
    """RSS in MiB by kind of process (shared pages of PostgreSQL count once each), idle CPU as a part of a core."""
    before, begin = running.cpu(), time.perf_counter()
    time.sleep(seconds)
    used = running.cpu().since(before)
    share = (used.service + used.postgres) / (time.perf_counter() - begin)
    memory = {
        "memex": mib(p.memory_info().rss for p in running.service_processes()),
        "postgres": mib(pss(p) for p in running.postgres_processes()),
    }
    return {"rss_mib": memory, "idle_cpu_percent_of_a_core": round(100 * share, 2)}


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes: a shared page counts in parts."""
    return int(process.memory_full_info().pss)


def mib(sizes: Iterable[int]) -> float:
    """The sum of `sizes` in MiB."""
    return round(sum(sizes) / 2**20, 1)


if __name__ == "__main__":
    main()
