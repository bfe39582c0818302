"""Server processes: found, verified, watched and signalled without mistaking another program for them."""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec
import psutil

from memex.store.embedded.layout import SOCKET_NAME

PROGRAM = "postgres"
LAST_WORDS = 2.0
"""Seconds for orphans to end by themselves."""
SLICE = 0.2
"""Seconds between two looks at a process where the system has no pidfd."""


class PidFile(msgspec.Struct, frozen=True):
    """What `postmaster.pid` says. It may be stale: its pid may by now belong to anybody."""

    pid: int
    sockets: Path
    ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    """The pid file of a cluster; None where there is none or it is still being written."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        return PidFile(int(lines[0]), Path(lines[4]), lines[7].strip() == "ready")
    except (OSError, ValueError, IndexError):
        return None


class Process:
    """One process by an identity that cannot pass to another: a pidfd on Linux.

    Elsewhere psutil's check of the start time stands in for it (untested).
    """

    def __init__(self, pid: int) -> None:
        """Raises ProcessLookupError where no such process is."""
        self.pid = pid
        self._fd = -1
        if sys.platform == "linux":
            self._fd = os.pidfd_open(pid)
        try:
            self._seen = psutil.Process(pid)
        except psutil.Error as error:
            self.close()
            raise ProcessLookupError(pid) from error

    def serves(self, data: Path, uid: int) -> bool:
        """Whether it is a PostgreSQL process of this cluster: they all work in the cluster's folder."""
        try:
            return self._seen.name() == PROGRAM and self._seen.uids().effective == uid and self._works_in(data)
        except psutil.Error:
            return False

    def _works_in(self, data: Path) -> bool:
        try:
            return Path(self._seen.cwd()) == data.resolve()
        except psutil.AccessDenied:
            # Root of a container may not look into processes of others. The server shows the folder in its command
            # line; what is called a child of one and is not is an orphan, which can only end, whosever it was.
            command = self._seen.cmdline()
            if not command:  # it has ended, and its parent has not looked yet
                return False
            parent = self._seen.parent()
            orphan = command[0].startswith(f"{PROGRAM}:") and (parent is None or parent.name() != PROGRAM)
            return orphan or Path(command[-1]).resolve() == data.resolve()

    def wait(self, timeout: float, wake: int | None = None) -> bool:
        """Whether it ended within `timeout` seconds; sooner False when the descriptor `wake` becomes readable."""
        if self._fd < 0:
            return self._wait_by_looking(timeout, wake)
        poll = select.poll()
        for fd in (self._fd, wake):
            if fd is not None:
                poll.register(fd, select.POLLIN)
        return any(fd == self._fd for fd, _ in poll.poll(max(0.0, timeout) * 1000))

    def _wait_by_looking(self, timeout: float, wake: int | None) -> bool:
        deadline = time.monotonic() + timeout
        while self._seen.is_running() and self._seen.status() != psutil.STATUS_ZOMBIE:
            left = deadline - time.monotonic()
            if left <= 0 or select.select([] if wake is None else [wake], [], [], min(SLICE, left))[0]:
                return False
        return True

    def send(self, number: signal.Signals) -> None:
        """Signal it, unless it has ended."""
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if sys.platform == "linux":
                signal.pidfd_send_signal(self._fd, number)
            else:
                self._seen.send_signal(number)

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def running(data: Path, uid: int) -> Process | None:
    """The server of a cluster, if its pid file names a process that really is that."""
    noted = read_pid_file(data)
    if noted is None:
        return None
    try:
        process = Process(noted.pid)
    except ProcessLookupError:
        return None
    if process.serves(data, uid):
        return process
    process.close()
    return None


def left_behind(data: Path, uid: int) -> Iterator[Process]:
    """Every process of a cluster, the server's children included. The caller closes them."""
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError):
            process = Process(pid)
            if process.serves(data, uid):
                yield process
            else:
                process.close()


def end(process: Process, patience: float) -> bool:
    """Stop a server: fast, at once after `patience` seconds, by force at last. Whether it went the first way."""
    for number, seconds in ((signal.SIGINT, patience), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
        process.send(number)
        if process.wait(seconds):
            return number is signal.SIGINT
    return False


def clear(data: Path, uid: int) -> int:
    """End what a killed server has left running, so that a new one may start. Returns how many there were.

    All at once, because the log collector stays until the others have gone.
    """
    with contextlib.ExitStack() as opened:
        found = [opened.enter_context(process) for process in left_behind(data, uid)]
        for number in (signal.SIGQUIT, signal.SIGKILL):
            for process in found:
                process.send(number)
            deadline = time.monotonic() + LAST_WORDS
            if all(process.wait(deadline - time.monotonic()) for process in found):
                break
        return len(found)


def forget(data: Path, sockets: Path) -> None:
    """Remove stale pid files: PostgreSQL takes any program that now has the pid, a zombie too, for a running server.

    Only for the holder of the owner lock, after `clear`. Its shared memory still keeps two servers apart.
    """
    (data / "postmaster.pid").unlink(missing_ok=True)
    (sockets / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
