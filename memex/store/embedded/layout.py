"""Where the embedded server keeps its things under the data directory, and who may see them."""

import errno
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from memex.errors import HomeUnusable
from memex.store.embedded.account import Account

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_LIMIT = 107 if sys.platform == "linux" else 103
"""Bytes that a path in `sockaddr_un` may have."""
NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}
NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST, errno.ELOOP}
FULL = {errno.ENOSPC, errno.EDQUOT}


class Layout(msgspec.Struct, frozen=True):
    """The paths of one data directory."""

    home: Path
    """Absolute."""

    @property
    def data(self) -> Path:
        """The cluster itself."""
        return self.home / "data" / "postgres"

    @property
    def unfinished(self) -> Path:
        """A cluster that is being made; it gets its real name when it is whole."""
        return self.home / "data" / "postgres.new"

    @property
    def logs(self) -> Path:
        """The server's log files."""
        return self.home / "logs" / "postgresql"

    @property
    def run(self) -> Path:
        """The socket's folder, unless its path is too long."""
        return self.home / "run"

    @property
    def programs(self) -> Path:
        """A copy of the binaries, where the server's account cannot reach the installed ones."""
        return self.home / "postgresql"

    def lock(self, name: str) -> Path:
        """A lock file: `gate`, `owner` or `users`."""
        return self.home / "data" / f"postgres.{name}.lock"

    def check_name(self) -> None:
        """Raises HomeUnusable for a path that PostgreSQL could not note on one line."""
        if len(str(self.home).splitlines()) > 1:
            raise HomeUnusable(f"The data directory {str(self.home)!r} has a line end in its name: choose another.")

    def found(self, account: Account) -> None:
        """Make the data directory and what its locks need. Nothing above `home` is touched. HomeUnusable."""
        self.check_name()
        with usable(self.home):
            make_home(self.home, outer(account))
            private(self.home / "data", outer(account))

    def prepare(self, account: Account) -> None:
        """Make what else is missing and close what is ours to everybody else. One process at a time.

        Raises HomeUnusable.
        """
        with usable(self.home):
            private(self.home / "config", 0o700)
            private(self.home / "logs", outer(account))
            for folder in (self.logs, self.run):
                private(folder, 0o700, account)
        if account.switch and not account.may("x", self.home / "data"):
            raise HomeUnusable(
                f"memex runs as root and PostgreSQL as {account.name}, which may not enter {self.home}: "
                "choose a data directory such as /var/lib/memex, or run memex as an ordinary user."
            )

    def sockets(self, account: Account) -> Path:
        """The folder of the server's socket: `run`, or a private one in the temporary folder where that is too long.

        Raises HomeUnusable if somebody else has made the latter.
        """
        if fits(self.run):
            return self.run
        folder = self._elsewhere(account)
        with usable(folder):
            private(folder, 0o700, account)
        return folder

    def tidy(self, account: Account) -> None:
        """Leave nothing in the temporary folder. Only when no server of this directory runs."""
        folder = self._elsewhere(account)
        with suppress(OSError):
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid:
                for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):  # of a killed server
                    (folder / name).unlink(missing_ok=True)
                folder.rmdir()

    def _elsewhere(self, account: Account) -> Path:
        """The socket's folder where `run` is too long."""
        mark = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"memex-{account.uid}-{mark}"


def outer(account: Account) -> int:
    """The mode of outer folders. The server's account only passes through them; root keeps them."""
    return 0o711 if account.switch else 0o700


def fits(folder: Path) -> bool:
    """Whether a socket in `folder` can be bound, and named to PostgreSQL, whose lists have commas and double quotes."""
    path = os.fsencode(folder / SOCKET_NAME)
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(path) <= SOCKET_LIMIT and not set(text) & set(',"\n\r')


def make_home(home: Path, mode: int) -> None:
    """Make `home` and what is missing above it. One that exists and is ours is at most opened to passing through."""
    for folder in reversed([home, *home.parents]):
        if not folder.exists():
            folder.mkdir(mode=mode, exist_ok=True)
            folder.chmod(mode)
    found = home.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a directory")
    wanted = mode & 0o011
    if found.st_uid == os.geteuid() and found.st_mode & wanted != wanted:
        home.chmod(stat.S_IMODE(found.st_mode) | wanted)


def private(folder: Path, mode: int, owner: Account | None = None) -> None:
    """Make one folder with exactly `mode`; as root it may belong to the server's account."""
    switch = owner is not None and owner.switch
    uid, gid = (owner.uid, owner.gid) if owner and switch else (os.geteuid(), os.getegid())
    try:
        folder.mkdir(mode=0o700)
        if switch:
            os.chown(folder, uid, gid, follow_symlinks=False)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise
    found = folder.lstat()
    if found.st_uid != uid:
        raise HomeUnusable(
            f"{folder} belongs to another user: run memex as that user, or choose another data directory."
        )
    if stat.S_IMODE(found.st_mode) != mode:
        folder.chmod(mode)


def rewrite(path: Path, text: str, account: Account, mode: int = 0o600) -> None:
    """Replace a file in a folder of the server's account, never through a link that the account may have laid."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open_fresh(fresh, account, mode) as fd, os.fdopen(fd, "wb", closefd=False) as file:
        file.write(os.fsencode(text))
        file.flush()
        os.fsync(fd)
    fresh.rename(path)


@contextmanager
def open_fresh(path: Path, account: Account, mode: int = 0o600) -> Iterator[int]:
    """A file descriptor on a file that did not exist before and belongs to the account."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        if account.switch:
            os.fchown(fd, account.uid, account.gid)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def usable(home: Path) -> Iterator[None]:
    """Turn the system's refusals into HomeUnusable with what to do."""
    try:
        yield
    except OSError as error:
        raise HomeUnusable(complaint(home, error)) from error


def complaint(home: Path, error: OSError) -> str:
    """One sentence for one refusal."""
    if error.errno in NOT_WRITABLE:
        return f"The data directory {home} is not writable: change its owner or choose another with --data-dir."
    if error.errno in NOT_A_FOLDER:
        return (
            f"The data directory {home} is not a directory, or something in it is not: choose another with --data-dir."
        )
    if error.errno in FULL:
        return f"The disk of the data directory {home} is full: free some space, then start memex again."
    return f"The data directory {home} cannot be used: {error.strerror or error}."
