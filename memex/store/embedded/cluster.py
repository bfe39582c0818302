"""One database cluster: made once, then started, looked at and stopped."""

import logging
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import msgspec

from memex.errors import DatabaseUnreachable, DatabaseUnsuitable, HomeUnusable
from memex.store.embedded import configuration, process, trouble
from memex.store.embedded.account import Account
from memex.store.embedded.binaries import Binaries
from memex.store.embedded.layout import Layout, open_fresh, private, rewrite, usable
from memex.store.embedded.process import Process

POLL = 0.01
"""Seconds between two looks at a server that is starting."""
REPORT = 5.0
"""Seconds between two log lines about a start that takes long."""
PATIENCE = 30.0
"""Seconds that a fast shutdown may take before it is made an immediate one."""
KEPT_LOGS = 10
NO_PROCESS = nullcontext(None)

logger = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True):
    """Sizes of the server."""

    connections: int = 100
    """Most connections: workers times their pool, and some for people."""
    shared_megabytes: int = 128
    start_seconds: float = 300.0
    """Longest start, the recovery after a crash included."""


class Cluster:
    """The cluster of one data directory. Whoever starts it holds the owner lock."""

    def __init__(self, layout: Layout, account: Account, binaries: Binaries, limits: Limits) -> None:
        self._layout, self._account, self._binaries, self._limits = layout, account, binaries, limits

    @property
    def version(self) -> str:
        """Of the binaries, such as 18.4."""
        return self._binaries.version

    def make(self) -> None:
        """Run `initdb` unless the cluster is there. What a kill leaves half made never passes for whole.

        Raises HomeUnusable, DatabaseUnreachable, DatabaseUnsuitable (another major version).
        """
        if self._layout.data.exists() or self._layout.data.is_symlink():
            return self._check()
        logger.info("Making the PostgreSQL %s database (once)", self.version)
        began, fresh = time.monotonic(), self._layout.unfinished
        with usable(self._layout.home):
            shutil.rmtree(fresh, ignore_errors=True)
            private(fresh, 0o700, self._account)
            self._initdb(fresh)
            rewrite(fresh / "postgresql.conf", configuration.POSTGRESQL_CONF, self._account)
            fresh.rename(self._layout.data)
            sync(self._layout.data.parent)
        logger.info("The database is made (%.1f s)", time.monotonic() - began)
        return None

    def _initdb(self, folder: Path) -> None:
        options = ["--username", configuration.SUPERUSER, "--auth-local", "peer", "--auth-host", "reject"]
        options += [
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--locale-provider",
            "builtin",
            "--builtin-locale",
            "C.UTF-8",
        ]
        options += [
            "--data-checksums",
            "--no-instructions",
            "--sync-method",
            configuration.sync_method(),
            "--pgdata",
            str(folder),
        ]
        log = self._layout.logs / "initdb.log"
        if self._spawn(["initdb", *options], log).wait() != 0:
            shutil.rmtree(folder, ignore_errors=True)
            raise trouble.explained("making its data directory", [log])

    def _check(self) -> None:
        """That the cluster there is ours and of this major version."""
        with usable(self._layout.home):
            if not self._layout.data.is_dir():
                raise HomeUnusable("data/postgres in the data directory is not a directory: move it away.")
            if self._layout.data.stat().st_uid != self._account.uid:
                raise HomeUnusable(
                    f"The database in {self._layout.home} does not belong to the user {self._account.name}: "
                    "run memex as the user that made it, or choose another data directory."
                )
            private(self._layout.data, 0o700, self._account)
            major = version_of_data(self._layout.data)
        if major != self._binaries.major:
            raise DatabaseUnsuitable(
                f"The data was made by PostgreSQL {major} and this memex brings PostgreSQL {self._binaries.major}: "
                "dump it with pg_dump of the memex that made it, then restore the dump into an empty data directory."
            )

    def running(self) -> Process | None:
        """The server, if it runs, whoever started it. The caller closes it."""
        return process.running(self._layout.data, self._account.uid)

    def sockets(self) -> Path:
        """The socket's folder: that of the running server, or the one that the next start will use."""
        noted = process.read_pid_file(self._layout.data)
        with self.running() or NO_PROCESS as found:
            if noted is not None and found is not None:
                return noted.sockets
        return self._layout.sockets(self._account)

    def ready(self) -> bool:
        """Whether the server runs and has finished starting."""
        noted = process.read_pid_file(self._layout.data)
        with self.running() or NO_PROCESS as found:
            return found is not None and noted is not None and noted.ready

    def launch(self, given_up: threading.Event) -> None:
        """Start the server and return when it is ready, or as soon as `given_up` is set, without a server then.

        Only for the holder of the owner lock, when no server runs. What a killed one left behind is ended first.
        Raises HomeUnusable or DatabaseUnreachable with the server's own reason; then no server runs either.
        """
        if ended := process.clear(self._layout.data, self._account.uid):
            logger.warning("Ended %d processes that a killed PostgreSQL had left behind", ended)
        with usable(self._layout.home):
            sockets = self._layout.sockets(self._account)
            process.forget(self._layout.data, sockets)
            configuration.write(
                self._layout, self._account, sockets, self._limits.connections, self._limits.shared_megabytes
            )
            self.prune_logs()
            earlier = self._logs()
            child = self._spawn(["postgres", "-D", str(self._layout.data)], self._layout.logs / "start.log")
        with Process(child.pid) as started:
            # The child may outlive us; while we live, somebody has to take its exit status.
            threading.Thread(target=child.wait, name="postgres-exit", daemon=True).start()
            try:
                self._await(started, given_up, earlier)
            except BaseException:
                process.end(started, PATIENCE)
                raise

    def _spawn(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """A child of its own session, so that Ctrl-C on memex lets memex finish before the server stops."""
        log.unlink(missing_ok=True)
        with open_fresh(log, self._account) as fd:
            program, *arguments = command
            return subprocess.Popen(  # noqa: S603  our own programs
                [self._binaries.program(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=fd,
                stderr=fd,
                start_new_session=True,
                **self._account.as_process(),
            )

    def _await(self, started: Process, given_up: threading.Event, earlier: list[Path]) -> None:
        began = reported = time.monotonic()
        while not self.ready():
            if started.wait(POLL):
                raise trouble.explained("starting", self._told(earlier))
            if given_up.is_set():
                process.end(started, PATIENCE)
                return
            now = time.monotonic()
            if now - began > self._limits.start_seconds:
                raise DatabaseUnreachable(f"The embedded PostgreSQL did not start within {now - began:.0f} s.")
            if now - reported > REPORT:
                reported = now
                logger.info("PostgreSQL is still starting after %.0f s (recovering from a crash?)", now - began)

    def _told(self, earlier: list[Path]) -> Iterable[Path]:
        """The logs that may tell why a start failed, the newest of the server's own last.

        Not what is `earlier`: the server begins a file at each start, and its last words of before explain nothing.
        """
        return [self._layout.logs / "start.log", *[log for log in self._logs()[:1] if log not in earlier]]

    def stop(self) -> None:
        """Stop the server, and what a killed one has left: a fast shutdown, an immediate one if that takes too long.

        Only for the last user.
        """
        self._end()
        self._layout.tidy(self._account)

    def _end(self) -> None:
        with self.running() or NO_PROCESS as found:
            if found is None:
                process.clear(self._layout.data, self._account.uid)
                return
            logger.info("Stopping PostgreSQL")
            if not process.end(found, PATIENCE):
                logger.warning("PostgreSQL did not stop within %.0f s and was made to; it will recover", PATIENCE)

    def _logs(self) -> list[Path]:
        """The server's log files, the newest first."""
        return sorted(self._layout.logs.glob("postgresql-*.log"), reverse=True)

    def prune_logs(self) -> None:
        """Keep the newest files: the server begins one at each start and at each 8 MB."""
        for log in self._logs()[KEPT_LOGS:]:
            log.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes of the data directory as the disk counts them. Files may come and go meanwhile."""
        total = 0
        for folder, _, files in os.walk(self._layout.data):
            for name in files:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118  a Path each costs ten times as much
                except FileNotFoundError:
                    continue
        return total


def version_of_data(data: Path) -> str:
    """The major version that made a cluster. Raises HomeUnusable where the file does not hold one."""
    try:
        text = (data / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
    except (FileNotFoundError, IsADirectoryError):
        text = ""
    if re.fullmatch(r"[0-9]{1,3}", text) is None:
        raise HomeUnusable(
            "data/postgres in the data directory is not a PostgreSQL cluster: move it away or restore it from a backup."
        )
    return text


def sync(folder: Path) -> None:
    """Make a rename in `folder` last."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
