"""Who uses, owns and stops the server that several processes of one data directory share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memex.errors import HomeUnusable
from memex.store.embedded.layout import Layout, usable
from memex.store.embedded.locks import FileLock


class Sharing:
    """This process's part in the server of one data directory.

    `gate` is held while somebody joins or leaves, `users` is shared by all who use the server, `owner` is held by the
    one that supervises it. All three go with the process that holds them, however it ends.
    """

    def __init__(self, layout: Layout, timeout: float) -> None:
        """`timeout` in seconds is the longest wait for the gate. Raises HomeUnusable."""
        self._timeout = timeout
        with usable(layout.home):
            self._gate, self._owner, self._users = (FileLock(layout.lock(name)) for name in ("gate", "owner", "users"))

    @contextmanager
    def joining(self) -> Iterator[None]:
        """Become a user; the body brings the server up. If it fails this process is no user. DatabaseUnreachable."""
        with self._gate.held(self._timeout):
            self._users.shared()
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody uses the server or begins to during the body. Once only. HomeUnusable, DatabaseUnreachable."""
        try:
            with self._gate.held(self._timeout):
                if not self._users.exclusive():
                    raise HomeUnusable("A memex process uses this data directory: stop it, then try again.")
                yield
        finally:
            for lock in (self._users, self._owner, self._gate):
                lock.close()

    def own(self) -> bool:
        """Be the owner, if nobody else is."""
        return self._owner.exclusive()

    def leave(self, stop: Callable[[], None]) -> None:
        """Be a user no longer; the last one calls `stop`."""
        with self._gate.held(self._timeout):
            try:
                self._users.release()
                if self._users.exclusive():
                    stop()
            finally:
                for lock in (self._users, self._owner):
                    lock.close()
        self._gate.close()
