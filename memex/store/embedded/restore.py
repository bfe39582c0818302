"""A backup put into a data directory that has no database."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memex.errors import BackupUnusable, DatabaseUnsuitable, HomeUnusable
from memex.store.embedded import account as accounts
from memex.store.embedded import binaries, configuration, manifest, trouble
from memex.store.embedded.account import Account
from memex.store.embedded.backup import CLUSTER, Backup, Tell, described, size_of
from memex.store.embedded.binaries import Binaries
from memex.store.embedded.cluster import Limits, sync
from memex.store.embedded.layout import Layout, open_fresh, private, usable
from memex.store.embedded.manifest import File
from memex.store.embedded.sharing import Sharing

LOG = "pg_wal"
"""The folder of the write-ahead log, whose records have checksums that the recovery looks at."""
PIECE = 1 << 20
NEW_EPOCHS = (
    "DO $$ BEGIN "
    "IF to_regclass('memex.spaces') IS NOT NULL THEN UPDATE memex.spaces SET epoch = DEFAULT; END IF; "
    "END $$\n"
)
"""One line. What a process has in memory of a space is good for its epoch, in which no version may come twice."""


def restore(source: Path, home: Path, tell: Tell) -> Backup:
    """Put the backup `source` into the data directory `home`; its database is there only once it is whole.

    Raises BackupUnusable (damaged, incomplete or none), DatabaseUnsuitable (another major version), HomeUnusable (there
    is a database, or somebody uses the directory) and DatabaseUnreachable (somebody starts or stops it).
    """
    backup, account, layout = described(source), accounts.current(), Layout(home.absolute())
    check_version(backup)
    check_free(layout)
    files = manifest.read(source / CLUSTER)
    missing = [folder for folder in (layout.home, *layout.home.parents) if not folder.exists()]
    layout.found(account)
    with Sharing(layout, Limits().start_seconds).alone():
        check_free(layout)
        with undone(missing), usable(layout.home):
            layout.prepare(account)
            found, fresh = binaries.find(account, layout), layout.unfinished
            shutil.rmtree(fresh, ignore_errors=True)
            try:
                lay(source / CLUSTER, fresh, files, account, tell)
                recover(fresh, found, account)
                run(found, account, "initdb", "--sync-only", f"--sync-method={configuration.sync_method()}", str(fresh))
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
            fresh.rename(layout.data)
            sync(layout.data.parent)
    return backup


@contextmanager
def undone(made: list[Path]) -> Iterator[None]:
    """The folders `made` for this, the innermost first, are gone where the body fails, with all that is in that one."""
    try:
        yield
    except BaseException:
        for folder in made[:1]:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # somebody else has put something there
            for folder in made[1:]:
                folder.rmdir()
        raise


def check_version(backup: Backup) -> None:
    """Raises DatabaseUnsuitable where our PostgreSQL could not read the files."""
    ours = binaries.version_of(binaries.installed())
    if backup.major != ours.split(".")[0]:
        raise DatabaseUnsuitable(
            f"The backup was made by PostgreSQL {backup.postgresql} and this memex brings PostgreSQL {ours}: "
            f"restore it with memex {backup.memex}, which made it, then move the data with pg_dump."
        )


def check_free(layout: Layout) -> None:
    """Raises HomeUnusable where there is a database."""
    if layout.data.exists() or layout.data.is_symlink():
        raise HomeUnusable(
            f"There is a database in {layout.home} already: nothing was restored. Choose an empty data directory, or "
            "move data/postgres away."
        )


def lay(source: Path, fresh: Path, files: dict[str, File], account: Account, tell: Tell) -> None:
    """Copy a cluster and compare every file with the manifest. Raises BackupUnusable.

    Where we are root nobody else can enter the folders before they are whole.
    """
    whole, done, missing = size_of(source), 0, dict(files)
    folders = [fresh]
    private(fresh, 0o700)
    for name, is_folder in contents(source):
        if is_folder:
            folders.append(fresh / name)
            private(fresh / name, 0o700)
        elif name in files or name.startswith(f"{LOG}/"):
            done += copy(source / name, fresh / name, missing.pop(name, None), account)
            tell("restoring", min(done, whole), whole)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise BackupUnusable(f"The backup is incomplete: {min(missing)}{more} missing.")
    if account.switch:
        for folder in reversed(folders):
            os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def contents(source: Path) -> Iterator[tuple[str, bool]]:
    """Names of all folders and plain files below `source`, a folder before what is in it, and whether it is one."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        with readable(), os.scandir(source / inside) as entries:
            for entry in entries:
                name = f"{inside}/{entry.name}" if inside else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                    yield name, True
                elif entry.is_file(follow_symlinks=False):
                    yield name, False


def copy(source: Path, target: Path, expected: File | None, account: Account) -> int:
    """One file; its bytes. Raises BackupUnusable where it is not the one that the manifest means."""
    digest, size = hashlib.sha256(), 0
    with open_fresh(target, account) as fd:
        for piece in pieces(source):
            digest.update(piece)
            size += len(piece)
            write(fd, piece)
    if expected is not None and (size, digest.hexdigest()) != (expected.size, expected.checksum):
        raise BackupUnusable(f"The backup is damaged: {expected.name} is not what it was.")
    return size


def pieces(source: Path) -> Iterator[bytes]:
    """What is in a file. Raises BackupUnusable."""
    with readable(), source.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


@contextmanager
def readable() -> Iterator[None]:
    """Turns the system's refusals into BackupUnusable."""
    try:
        yield
    except OSError as error:
        raise BackupUnusable(f"The backup cannot be read: {error.strerror or error}.") from error


def write(fd: int, piece: bytes) -> None:
    """All of it."""
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(fd, rest) :]


def recover(fresh: Path, found: Binaries, account: Account) -> None:
    """Let PostgreSQL, without a socket, make the files consistent, and give every space a new epoch. BackupUnusable."""
    options = ["--single", "-D", str(fresh), "-c", "exit_on_error=on", configuration.DATABASE]
    run(found, account, "postgres", *options, said=NEW_EPOCHS)


def run(found: Binaries, account: Account, program: str, *options: str, said: str = "") -> None:
    """One of PostgreSQL's programs to its end. Raises BackupUnusable with its reason."""
    done = subprocess.run(  # noqa: S603  our own programs
        [found.program(program), *options],
        input=said,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        **account.as_process(),
    )
    if done.returncode:
        reason = trouble.last_reason(done.stderr) or trouble.last_words(done.stderr) or trouble.NO_REASON
        raise BackupUnusable(f"PostgreSQL cannot recover the backup: {reason}.")
