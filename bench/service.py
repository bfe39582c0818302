"""A memex of its own for one measurement: fresh data, a free port, rate limits off."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

READY_SECONDS = 120.0


class Service(msgspec.Struct):
    """A running service and the folder that holds its data."""

    url: str
    home: Path
    process: subprocess.Popen[bytes]
    started_in: float
    """Seconds from the start of the process to the first 200 of /readyz."""

    def processes(self) -> list[psutil.Process]:
        """The parent, its workers, and the PostgreSQL that serves this home."""
        parent = psutil.Process(self.process.pid)
        own = [parent, *parent.children(recursive=True)]
        known = {process.pid for process in own}
        return own + [p for p in postgres_of(self.home) if p.pid not in known]


@contextmanager
def service(home: Path | None = None, settings: dict[str, str] | None = None) -> Iterator[Service]:
    """Starts memex, waits until it is ready, stops it at the end; a `home` that was given is kept."""
    folder = home or Path(tempfile.mkdtemp(prefix="memex-bench-"))
    folder.chmod(0o755)  # the database's account must reach it where we are root
    port = free_port()
    process, started_in = start(folder, port, settings or {})
    try:
        yield Service(f"http://127.0.0.1:{port}", folder, process, started_in)
    finally:
        process.terminate()
        process.wait(timeout=60)
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)


def start(home: Path, port: int, settings: dict[str, str]) -> tuple[subprocess.Popen[bytes], float]:
    """The process once it is ready, and the seconds that it took."""
    limits = {"RATE_LIMIT_WRITES_PER_MINUTE": "0", "RATE_LIMIT_SEARCHES_PER_MINUTE": "0", "MEMEX_LOG_LEVEL": "warning"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "memex", "serve", "--port", str(port), "--data-dir", str(home)],
        env=os.environ | limits | settings,
    )
    while time.perf_counter() - begin < READY_SECONDS:
        if process.poll() is not None:
            raise SystemExit("memex did not start")
        if answers(f"http://127.0.0.1:{port}/readyz"):
            return process, time.perf_counter() - begin
        time.sleep(0.02)
    process.terminate()
    raise SystemExit(f"memex was not ready within {READY_SECONDS:.0f} s")


def answers(url: str) -> bool:
    """Whether a GET of `url` gives 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 (a loopback address)
            return bool(response.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def postgres_of(home: Path) -> list[psutil.Process]:
    """The postmaster of `home` and its children."""
    for file in home.glob("data/**/postmaster.pid"):
        postmaster = psutil.Process(int(file.read_text().splitlines()[0]))
        return [postmaster, *postmaster.children(recursive=True)]
    return []


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU time that the living ones of `processes` have used, in seconds."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
