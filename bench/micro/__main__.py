"""Every micro-benchmark, its answer checked, as one result.

python -m bench.micro
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from bench.machine import release_build
from bench.noise import watched
from bench.results import Result, record

FOLDER = Path(__file__).parent
NANOSECONDS = 1e9


class Stats(msgspec.Struct):
    """What pytest-benchmark writes of one benchmark, in seconds per call."""

    min: float
    median: float
    iqr: float
    rounds: int


class Measured(msgspec.Struct):
    """One benchmark; `extra_info["per"]` is how many texts one call is for, 1 if it is not there."""

    group: str | None
    name: str
    stats: Stats
    extra_info: dict[str, int]


class Report(msgspec.Struct):
    """The file that pytest-benchmark writes."""

    benchmarks: list[Measured]


@click.command()
@click.option("--seconds", default=1.0, show_default=True, help="For each benchmark, and as long to warm up.")
@click.option("--only", default="", help="Benchmarks whose names match this pytest expression.")
def main(seconds: float, only: str) -> None:
    """Nanoseconds of each benchmark: least, median, interquartile range."""
    release_build()
    with watched() as noise:
        report = run(seconds, only)
    figures = {"benchmarks": [figure(measured) for measured in report.benchmarks]}
    settings = {"seconds": seconds, "only": only, "threads": 1}
    warm_up = f"each benchmark for up to {seconds:g} s"
    record(Result("micro", "part" if only else "all", figures, settings, warm_up, [noise]))


def run(seconds: float, only: str) -> Report:
    """Runs pytest in a process of its own, which has not loaded NumPy yet. A wrong answer ends the run."""
    with tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        file = Path(folder) / "micro.json"
        limits = [f"--benchmark-max-time={seconds}", "--benchmark-warmup=on", "--benchmark-only"]
        shown = ["--benchmark-columns=min,median,iqr,rounds", "--benchmark-sort=min", f"--benchmark-json={file}"]
        options = ["-n0", "-p", "no:randomly", "-k", only, *limits, *shown]
        if subprocess.run([sys.executable, "-m", "pytest", str(FOLDER), *options], check=False).returncode:
            raise SystemExit("a benchmark failed or gave a wrong answer: nothing is recorded")
        return msgspec.json.decode(file.read_bytes(), type=Report)


def figure(measured: Measured) -> dict[str, object]:
    """One benchmark's figures in nanoseconds, for each of its `texts`."""
    per, stats = measured.extra_info.get("per", 1), measured.stats
    times = {"min_ns": stats.min, "median_ns": stats.median, "iqr_ns": stats.iqr}
    shown = {name: round(NANOSECONDS * seconds / per, 1) for name, seconds in times.items()}
    return {"group": measured.group or "", "name": measured.name, "texts": per, **shown, "rounds": stats.rounds}


if __name__ == "__main__":
    main()
