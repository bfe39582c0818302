"""What this machine can do at most, measured in the same run: arithmetic, memory bandwidth, durable writes."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
FSYNCS = 200
PAGE = b"\0" * 8192


class Ceilings(msgspec.Struct, frozen=True):
    """Of one core unless said otherwise; None where the processor lacks the instruction."""

    int8_gops: float | None
    """Register-only `vpdpbusd`, 10⁹ multiplications and additions a second."""
    fp32_gflops: float
    """Register-only fused multiply-add of the widest vectors."""
    read_gb_per_s: float
    """Reading an array far larger than the caches, 10⁹ bytes a second."""
    read_all_cores_gb_per_s: float
    fsync_ms: float
    """Median of appending 8 KiB and fdatasync, in the folder where the measured databases lie."""


def measure_ceilings() -> Ceilings:
    """Builds and runs the native loops, and writes a small file. Takes about two seconds once it is built."""
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "memex-native", "--example", "ceilings"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return Ceilings(**msgspec.json.decode(found.stdout, type=dict[str, float | None]), fsync_ms=fsync_ms())  # type: ignore[arg-type]


def fsync_ms() -> float:
    """Median milliseconds of one durable 8 KiB write."""
    with tempfile.TemporaryFile() as file:

        def write() -> None:
            os.write(file.fileno(), PAGE)
            os.fdatasync(file.fileno())

        return round(1000 * statistics.median(timed(write) for _ in range(FSYNCS)), 3)


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
