"""The thread that keeps the server running: it restarts a dead one, and takes over when the owner has gone."""

import logging
import os
import threading
import time

from memex.errors import MemexError
from memex.store.embedded.cluster import NO_PROCESS, Cluster
from memex.store.embedded.sharing import Sharing

TAKE_OVER = 0.25
"""Seconds between two looks at whether the owner is still there."""
HOUSEKEEPING = 600.0
"""Seconds between two looks at the log files."""
FIRST_DELAY = 0.1
LONGEST_DELAY = 30.0
SETTLED = 60.0
"""Seconds after which a restart counts as a success, and the next delay is the first one again."""

logger = logging.getLogger(__name__)


class Supervisor:
    """Watches one cluster, from `start` to `stop`."""

    def __init__(self, cluster: Cluster, sharing: Sharing) -> None:
        self._cluster, self._sharing = cluster, sharing
        self._stopping = threading.Event()
        self._awake, self._wake = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        self._restarts, self._restarted = 0, 0.0
        self._thread = threading.Thread(target=self._run, name="postgres-supervisor", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer. A restart that is under way is given up. Once only."""
        self._stopping.set()
        os.write(self._wake, b".")
        self._thread.join()
        os.close(self._wake)
        os.close(self._awake)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._sharing.own():
                    self._tend()
                else:
                    self._stopping.wait(TAKE_OVER)
            except (MemexError, OSError) as error:
                logger.error("PostgreSQL could not be restarted: %s", error)  # noqa: TRY400  the reason is all there is to say
            except Exception:
                # Whatever it was, nobody else would restart the server.
                logger.exception("A look at PostgreSQL failed; the next one follows")
                self._stopping.wait(self._delay())

    def _tend(self) -> None:
        """One look at the server: wait for its end while it runs, start it when it does not."""
        with self._cluster.running() or NO_PROCESS as found:
            if found is None:
                self._restart()
            elif not found.wait(HOUSEKEEPING, self._awake):
                self._cluster.prune_logs()

    def _restart(self) -> None:
        """Start it, later and later when it keeps dying."""
        now, delay = time.monotonic(), self._delay()
        logger.warning("PostgreSQL has died and is started again in %.1f s", delay)
        if self._stopping.wait(delay):
            return
        self._cluster.launch(self._stopping)
        if not self._stopping.is_set():
            logger.warning("PostgreSQL was restarted (%.1f s)", time.monotonic() - now)

    def _delay(self) -> float:
        """Seconds until the next try: none at first, then longer and longer unless the last one has settled."""
        now = time.monotonic()
        if now - self._restarted > SETTLED + LONGEST_DELAY:
            self._restarts = 0
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (self._restarts - 1)) if self._restarts else 0.0
        self._restarts, self._restarted = min(self._restarts + 1, 16), now
        return delay
