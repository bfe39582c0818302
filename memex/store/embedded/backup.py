"""Backups of the embedded server: copies of its files that PostgreSQL makes while it runs."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from memex import __version__
from memex.errors import BackupUnusable
from memex.store.embedded import binaries, configuration, manifest
from memex.store.embedded.account import ENVIRONMENT
from memex.store.embedded.cluster import sync
from memex.store.embedded.database import conninfo, keeping_log
from memex.store.embedded.trouble import without_paths

DESCRIPTION = "memex-backup.json"
CLUSTER = "postgres"
PROGRESS = re.compile(r"\s*(\d+)/(\d+) kB")
COMPLAINT = re.compile(r"pg_basebackup: error: (.*)")
KILOBYTE = 1024

Tell = Callable[[str, int, int], None]
"""Takes what is at work, and how many bytes of how many are done."""


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself, in a file that is written when all else is there."""

    memex: str
    """The version that made it."""
    postgresql: str
    """Such as 18.4: only the same major version can read it."""
    made_at: str
    """UTC, ISO 8601."""
    bytes: int
    """Of its files."""

    @property
    def major(self) -> str:
        """Of PostgreSQL."""
        return self.postgresql.split(".")[0]


def make(sockets: Path, target: Path, tell: Tell) -> Backup:
    """Back up the server at `sockets` into the folder `target`, which is there only once the backup is whole.

    Consistent whatever is written meanwhile, and closed to everybody else. Raises BackupUnusable.
    """
    check_target(target)
    root = binaries.installed()
    with unfinished(target) as (fresh, lock), keeping_log(sockets):
        copy(root, sockets, fresh / CLUSTER, lock, tell)
        manifest.read(fresh / CLUSTER)
        made = Backup(
            memex=__version__,
            postgresql=binaries.version_of(root),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            bytes=size_of(fresh / CLUSTER),
        )
        describe(fresh, made)
    return made


def size_of(folder: Path) -> int:
    """Bytes of the plain files in a cluster's copy, without the list of them. Raises BackupUnusable."""
    try:
        found = [path.lstat() for path in folder.rglob("*") if path.name != manifest.NAME]
    except OSError as error:
        raise BackupUnusable(f"The backup cannot be read: {error.strerror}.") from error
    return sum(entry.st_size for entry in found if stat.S_ISREG(entry.st_mode))


def check_target(target: Path) -> None:
    """Raises BackupUnusable unless there is nothing at `target` but perhaps an empty folder that can be replaced.

    The folder that it is in must be there: what is not mounted would otherwise be made, on another disk.
    """
    if within := next((folder for folder in target.resolve().parents if (folder / DESCRIPTION).exists()), None):
        raise BackupUnusable(f"{within} is a backup itself: choose a folder beside it.")
    try:
        if not target.parent.exists():
            raise BackupUnusable(f"There is no folder {target.parent}: make it, or mount the disk that it is on.")
        if target.is_symlink() or target.is_mount():
            raise BackupUnusable(f"{target} is a link or a mount point, which stays: choose a new folder in it.")
        if next(target.iterdir(), None) is not None:
            raise BackupUnusable(f"{target} is not empty: a backup needs a folder of its own.")
    except FileNotFoundError:
        return
    except OSError as error:
        raise BackupUnusable(f"{target} cannot become a backup: {error.strerror}.") from error


@contextmanager
def unfinished(target: Path) -> Iterator[tuple[Path, int]]:
    """A folder beside `target` that takes its place if the body succeeds, and is gone if it fails; and its lock.

    One that a kill has left is begun anew. Raises BackupUnusable where the folder cannot be made, and where another
    backup is at work on it.
    """
    fresh = target.with_name(f"{target.name}.unfinished")
    try:
        fresh.mkdir(mode=0o700, exist_ok=True)
        with locked(fresh) as lock:
            empty(fresh)
            try:
                yield fresh, lock
                fresh.rename(target)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
            sync(target.parent)
    except OSError as error:
        raise BackupUnusable(f"{target} cannot be written: {error.strerror or error}.") from error


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """The folder for this process alone, and for whom it gives the descriptor, to their end. Raises BackupUnusable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd
    except BlockingIOError as error:
        raise BackupUnusable(f"Another backup is being made in {folder}.") from error
    finally:
        os.close(fd)


def empty(folder: Path) -> None:
    """Remove what is in a folder and close it to others."""
    folder.chmod(0o700)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def copy(root: Path, sockets: Path, cluster: Path, lock: int, tell: Tell) -> None:
    """Let `pg_basebackup` copy the cluster, then the write-ahead log that makes it consistent, through to the disk.

    If we are killed it ends too, for its next line of progress has no reader; until then it keeps the lock. The child
    with which it could fetch the log meanwhile would not end: it goes on for ever.
    """
    options = ["--checkpoint=fast", "--wal-method=fetch", "--label=memex", "--no-password", "--progress"]
    options += [f"--manifest-checksums={manifest.ALGORITHM}", f"--sync-method={configuration.sync_method()}"]
    options += ["--dbname", conninfo(sockets, configuration.SUPERUSER), "--pgdata", str(cluster)]
    with subprocess.Popen(  # noqa: S603  our own program
        [str(root / "bin" / "pg_basebackup"), *options],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(lock,),
        text=True,
        errors="replace",
    ) as child:
        try:
            words = followed(child, tell)
        except BaseException:
            child.terminate()
            raise
    if child.returncode:
        raise BackupUnusable(f"The backup could not be made: {words}.")


def followed(child: "subprocess.Popen[str]", tell: Tell) -> str:
    """Passes progress on to the end; the last complaint."""
    words = "pg_basebackup gave no reason"
    for line in child.stderr or ():
        if found := PROGRESS.match(line):
            done, whole = (int(number) * KILOBYTE for number in found.groups())
            tell("copying", min(done, whole), whole)
        elif complaint := COMPLAINT.match(line):
            words = without_paths(complaint[1]).rstrip(".")
    return words


def describe(folder: Path, made: Backup) -> None:
    """The last file of a backup."""
    fd = os.open(folder / DESCRIPTION, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(made)) + b"\n")
        file.flush()
        os.fsync(fd)
    sync(folder)


def described(folder: Path) -> Backup:
    """What a backup says of itself. Raises BackupUnusable where it is none, or none that came to its end."""
    try:
        return msgspec.json.decode((folder / DESCRIPTION).read_bytes(), type=Backup)
    except FileNotFoundError as error:
        raise BackupUnusable(f"{folder} is not a backup of memex, or one that was not finished.") from error
    except OSError as error:
        raise BackupUnusable(f"{folder} cannot be read: {error.strerror}.") from error
    except msgspec.MsgspecError as error:
        raise BackupUnusable(f"The backup is damaged: {DESCRIPTION} cannot be used.") from error
