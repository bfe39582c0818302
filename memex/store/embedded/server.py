"""The embedded server as the rest of memex sees it."""

import threading
import time
from pathlib import Path

import msgspec

from memex.errors import BackupUnusable, DatabaseUnreachable
from memex.store.embedded import account as accounts
from memex.store.embedded import backup, binaries, database
from memex.store.embedded.backup import Backup, Tell
from memex.store.embedded.cluster import NO_PROCESS, Cluster, Limits
from memex.store.embedded.layout import Layout
from memex.store.embedded.locks import POLL
from memex.store.embedded.sharing import Sharing
from memex.store.embedded.supervisor import Supervisor


class Description(msgspec.Struct, frozen=True):
    """What `memex check` shows."""

    version: str
    """Of PostgreSQL, such as 18.4."""
    pid: int | None
    """The running server's."""
    data_bytes: int
    account: str
    """The system user that the server runs as."""


class EmbeddedServer:
    """PostgreSQL in a data directory, on a unix socket; shared by all processes that start it there.

    The first of them supervises it: a server that dies is restarted. When that process goes, another takes over; when
    the last one stops, the server stops. After a kill the server stays, and whoever starts next adopts it.
    """

    def __init__(self, home: Path, limits: Limits | None = None) -> None:
        """`home` is the data directory, made when it is missing. Nothing happens before `start`."""
        self._layout = Layout(home.absolute())
        self._limits = limits or Limits()
        self._mutex = threading.Lock()
        self._cluster: Cluster | None = None
        self._sharing: Sharing | None = None
        self._supervisor: Supervisor | None = None
        self._sockets: Path | None = None

    def start(self) -> str:
        """Start or join the server; the connection string of an ordinary role that owns the database `memex`.

        Returns when the server has answered. Blocks for about a second the first time. Calling it again is harmless.
        Raises HomeUnusable, DatabaseUnreachable or DatabaseUnsuitable.
        """
        with self._mutex:
            if self._supervisor is None:
                self._join()
            return self.conninfo

    @property
    def conninfo(self) -> str:
        """The connection string; only after `start`."""
        return database.conninfo(self._started())

    def _started(self) -> Path:
        if self._sockets is None:
            raise DatabaseUnreachable("The embedded PostgreSQL has not been started.")
        return self._sockets

    def _join(self) -> None:
        account = accounts.current()
        self._layout.found(account)
        sharing = Sharing(self._layout, self._limits.start_seconds)
        stop = nothing
        try:
            with sharing.joining():
                self._layout.prepare(account)
                found = binaries.find(account, self._layout)
                cluster = Cluster(self._layout, account, found, self._limits)
                stop = cluster.stop
                self._bring_up(cluster, sharing)
                sockets = cluster.sockets()
                database.ensure(sockets)
        except BaseException:
            sharing.leave(stop)
            raise
        self._cluster, self._sharing, self._sockets = cluster, sharing, sockets
        self._supervisor = Supervisor(cluster, sharing)
        self._supervisor.start()

    def _bring_up(self, cluster: Cluster, sharing: Sharing) -> None:
        """Own the server and start it, or wait until its owner has."""
        deadline, pause = time.monotonic() + self._limits.start_seconds, threading.Event()
        while True:
            if sharing.own():
                cluster.make()
                with cluster.running() or NO_PROCESS as found:
                    if found is None:
                        return cluster.launch(pause)
            if cluster.ready():
                return None
            if time.monotonic() > deadline:
                raise DatabaseUnreachable(
                    f"The embedded PostgreSQL did not start within {self._limits.start_seconds:.0f} s."
                )
            pause.wait(POLL)

    def back_up(self, target: Path, tell: Tell) -> Backup:
        """A backup in the folder `target`, which must not be there or be empty; only after `start`. BackupUnusable."""
        return backup.make(self._started(), target.absolute(), tell)

    def check_backup(self, target: Path) -> None:
        """Raises BackupUnusable where `back_up` would, without a server: there is no database, or no such place."""
        data, place = self._layout.data, target.absolute()
        if not data.exists():
            raise BackupUnusable(f"There is no database in {self._layout.home}: nothing was backed up.")
        if place.resolve().is_relative_to(self._layout.home.resolve()):
            raise BackupUnusable("A backup cannot lie within the data directory that it is of: choose another folder.")
        backup.check_target(place)

    def stop(self) -> None:
        """Leave the server, and stop it if nobody else uses it. Calling it again is harmless."""
        with self._mutex:
            supervisor, sharing, cluster = self._supervisor, self._sharing, self._cluster
            self._supervisor = self._sharing = self._sockets = None
            if supervisor is None or sharing is None or cluster is None:
                return
            supervisor.stop()
            sharing.leave(cluster.stop)

    def describe(self) -> Description:
        """Version, process and size, started or not; makes nothing but the account. Raises what `start` raises."""
        self._layout.check_name()
        account = accounts.current()
        root = binaries.installed()
        cluster = Cluster(self._layout, account, binaries.Binaries(root, binaries.version_of(root)), self._limits)
        with cluster.running() or NO_PROCESS as found:
            return Description(cluster.version, found.pid if found else None, cluster.size(), account.name)


def nothing() -> None:
    """What there is to stop before anything was started."""
