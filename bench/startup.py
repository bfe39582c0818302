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
import msgspec
import psutil

from bench.load.closed_loop import seed
from bench.machine import describe
from bench.services.memex import memex
from bench.services.running import Running


@click.command()
@click.option("--starts", default=5, show_default=True)
@click.option("--idle-seconds", default=30.0, show_default=True)
def main(starts: int, idle_seconds: float) -> None:
    """Seconds from the process to the first 200 of /readyz, RSS and idle CPU of service and PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        home = Path(folder)
        with memex(home) as running:
            first = running.started_in
            asyncio.run(seed(running.url))
        seconds = []
        for _ in range(starts):
            with memex(home) as running:
                seconds.append(running.started_in)
                rest = at_rest(running, idle_seconds if len(seconds) == starts else 0)
    result = {"first_start_s": round(first, 2), "start_s": [round(s, 2) for s in seconds]}
    result |= {"start_median_s": round(statistics.median(seconds), 2)}
    print(msgspec.json.format(msgspec.json.encode(result | rest | describe()), indent=2).decode())


def at_rest(running: Running, seconds: float) -> dict[str, object]:
    """RSS in MiB by kind of process (shared pages of PostgreSQL count once each), idle CPU as a part of a core."""
    if not seconds:
        return {}
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
