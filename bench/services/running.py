"""A service under measurement: where it listens, and which processes it is made of."""

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

READY_SECONDS = 120.0
STOP_SECONDS = 60.0


class Cpu(msgspec.Struct, frozen=True):
    """CPU time used so far, in seconds."""

    service: float
    postgres: float

    def since(self, earlier: "Cpu") -> "Cpu":
        """What was used after `earlier`."""
        return Cpu(self.service - earlier.service, self.postgres - earlier.postgres)

    def per(self, requests: int) -> dict[str, float]:
        """Milliseconds for each of `requests`: the service, its PostgreSQL, and both."""
        each = {"service": self.service, "postgres": self.postgres, "both": self.service + self.postgres}
        return {name: round(1000 * seconds / requests, 3) for name, seconds in each.items()}


class Running(msgspec.Struct, frozen=True):
    """One running service."""

    name: str
    url: str
    home: Path
    """Holds its data."""
    process: subprocess.Popen[bytes]
    started_in: float
    """Seconds from the start of the process to the first answer that says it is ready."""

    def service_processes(self) -> list[psutil.Process]:
        """The process that was started and everything below it but PostgreSQL."""
        known = {process.pid for process in self.postgres_processes()}
        parent = psutil.Process(self.process.pid)
        return [p for p in (parent, *parent.children(recursive=True)) if p.pid not in known]

    def postgres_processes(self) -> list[psutil.Process]:
        """The postmaster that serves `home`, and its children."""
        for file in self.home.glob("data/**/postmaster.pid"):
            postmaster = psutil.Process(int(file.read_text().splitlines()[0]))
            return [postmaster, *postmaster.children(recursive=True)]
        return []

    def cpu(self) -> Cpu:
        """What both have used up to now."""
        return Cpu(cpu_seconds(self.service_processes()), cpu_seconds(self.postgres_processes()))


@contextmanager
def data_home(home: Path | None, prefix: str) -> Iterator[Path]:
    """`home` if one was given, else a folder that goes at the end; the database's account can reach it.

    Inside, SIGTERM unwinds as Ctrl-C does, so that nothing is left behind.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    folder = home or Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def process_of(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Runs it as Popen does; asked to end, and waited for, however the run ends."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


def await_ready(process: subprocess.Popen[bytes], url: str, begin: float) -> float:
    """Seconds from `begin` (of perf_counter) until a GET of `url` gives 200; ends the run if it never does."""
    while time.perf_counter() - begin < READY_SECONDS:
        if process.poll() is not None:
            raise SystemExit("the service did not start")
        if answers(url):
            return time.perf_counter() - begin
        time.sleep(0.02)
    raise SystemExit(f"the service was not ready within {READY_SECONDS:.0f} s")


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


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU time that `processes` and those of their children that have ended and were waited for have used, in seconds.

    PostgreSQL's vacuum and parallel workers live for moments: only the postmaster knows afterwards what they used.
    """
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
        # 0 where the system does not tell, or has no such field.
        total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total
