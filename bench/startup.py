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

from bench.closed_loop import seed
from bench.machine import describe
from bench.service import Service, cpu_seconds, service


@click.command()
@click.option("--starts", default=5, show_default=True)
@click.option("--idle-seconds", default=30.0, show_default=True)
def main(starts: int, idle_seconds: float) -> None:
    """Seconds from the process to the first 200 of /readyz, RSS and idle CPU of service and PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        home = Path(folder)
        with service(home) as running:
            first = running.started_in
            asyncio.run(seed(running.url))
        seconds = []
        for _ in range(starts):
            with service(home) as running:
                seconds.append(running.started_in)
                rest = at_rest(running, idle_seconds if len(seconds) == starts else 0)
    result = {"first_start_s": round(first, 2), "start_s": [round(s, 2) for s in seconds]}
    result |= {"start_median_s": round(statistics.median(seconds), 2)}
    print(msgspec.json.format(msgspec.json.encode(result | rest | describe()), indent=2).decode())


def at_rest(running: Service, seconds: float) -> dict[str, object]:
    """RSS in MiB by kind of process (shared pages of PostgreSQL count once each), idle CPU as a part of a core."""
    if not seconds:
        return {}
    processes = running.processes()
    before, begin = cpu_seconds(processes), time.perf_counter()
    time.sleep(seconds)
    used = (cpu_seconds(processes) - before) / (time.perf_counter() - begin)
    postgres = [p for p in processes if "postgres" in p.name()]
    python = [p for p in processes if p not in postgres]
    return {
        "rss_mib": {"memex": mib(p.memory_info().rss for p in python), "postgres": mib(pss(p) for p in postgres)},
        "idle_cpu_percent_of_a_core": round(100 * used, 2),
    }


def pss(process: psutil.Process) -> int:
    """Proportional set size in bytes: a shared page counts in parts."""
    return int(process.memory_full_info().pss)


def mib(sizes: Iterable[int]) -> float:
    """The sum of `sizes` in MiB."""
    return round(sum(sizes) / 2**20, 1)


if __name__ == "__main__":
    main()
