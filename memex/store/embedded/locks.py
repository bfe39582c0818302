"""Locks between processes that share one data directory. The kernel drops them when their holder dies."""

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from memex.errors import DatabaseUnreachable

POLL = 0.02
"""Seconds between two tries while another process starts or stops the server."""


class FileLock:
    """One `flock` on one file, which is made when missing and never removed.

    A worker forked from this process does not keep the lock alive: what it inherits is closed in it.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError where the file cannot be made or is not ours."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(path, flags, 0o600)
        forget = weakref.WeakMethod(self.close)
        os.register_at_fork(after_in_child=lambda: (close := forget()) and close())

    def exclusive(self) -> bool:
        """Take it for this holder alone; False when anybody else has it."""
        return self._take(fcntl.LOCK_EX)

    def shared(self) -> bool:
        """Take it beside other sharers; False when somebody has it alone."""
        return self._take(fcntl.LOCK_SH)

    def _take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @contextmanager
    def held(self, timeout: float) -> Iterator[None]:
        """Hold it alone for a while; DatabaseUnreachable when it is not free within `timeout` seconds."""
        deadline, pause = time.monotonic() + timeout, threading.Event()
        while not self.exclusive():
            if time.monotonic() > deadline:
                raise DatabaseUnreachable(
                    "Another memex process has been starting or stopping the embedded PostgreSQL of this data "
                    f"directory for {timeout:.0f} s: stop that process, then try again."
                )
            pause.wait(POLL)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Give it up; nothing happens where it is not held."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it up for good."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
