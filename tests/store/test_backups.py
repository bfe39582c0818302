"""Backups of the embedded server: consistent, closed to others, whole or not there; and what a restore refuses."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from memex.errors import BackupUnusable, DatabaseUnsuitable, HomeUnusable
from memex.store.embedded import EmbeddedServer, account, backup, manifest, restore
from memex.store.embedded.backup import Backup, described
from memex.store.embedded.layout import Layout
from memex.store.embedded.sharing import Sharing
from tests.fixtures.db import folder_for
from tests.fixtures.embedded import ROOT, Starter, answers, cluster_of, lay, nothing_runs, run_as
from tests.fixtures.waiting import until


def silent(_: str, __: int, ___: int) -> None:
    """Tells nobody."""


@pytest.fixture
def target(data_dir: Path) -> Path:
    """Where the backup is to be."""
    return data_dir.with_name("backup")


@pytest.fixture
def other(data_dir: Path) -> Path:
    """A data directory that is not there."""
    return data_dir.with_name("other")


@pytest.fixture(scope="module")
def made(prototype: Path) -> Iterator[Path]:
    """A backup of a database with one note."""
    folder = folder_for("memex-backup-")
    folder.chmod(0o755)
    lay(prototype, folder / "home")
    server = EmbeddedServer(folder / "home")
    with psycopg.connect(server.start()) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'tea' AS content")
    server.back_up(folder / "backup", silent)
    server.stop()
    yield folder / "backup"
    shutil.rmtree(folder)


@pytest.fixture
def whole(made: Path, target: Path) -> Path:
    """The same, for a test to spoil."""
    subprocess.run(["cp", "-a", str(made), str(target)], check=True)
    return target


def notes(conninfo: str) -> list[str]:
    with psycopg.connect(conninfo) as connection:
        return [row[0] for row in connection.execute("SELECT content FROM notes ORDER BY content")]


def refused(source: Path, home: Path, kind: type[Exception] = BackupUnusable) -> str:
    """The one sentence of a restore that must fail, and leave no database."""
    before = cluster_of(home).exists()
    with pytest.raises(kind) as caught:
        restore(source, home, silent)
    assert cluster_of(home).exists() == before
    assert list((home / "data").glob("postgres.new")) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_committed_is_there_again(whole: Path, other: Path, embedded: Starter):
    told: list[tuple[str, int, int]] = []
    made = restore(whole, other, lambda *progress: told.append(progress))
    assert told == sorted(told)
    assert told[-1][1:] == (made.bytes, made.bytes)
    assert made == described(whole)
    assert notes(embedded(other).conninfo) == ["tea"]


def test_a_backup_is_of_one_moment_while_others_write(embedded: Starter, target: Path, other: Path):
    """A transaction adds a row to each of two tables; no backup has one without the other."""
    server = embedded()
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE TABLE a (n bigint)")
        connection.execute("CREATE TABLE b (n bigint)")
    begun, over, committed = threading.Event(), threading.Event(), [0]

    def write() -> None:
        with psycopg.connect(server.conninfo) as connection:
            while not over.is_set():
                connection.execute("INSERT INTO a VALUES (%s)", [committed[0]])
                connection.execute("INSERT INTO b VALUES (%s)", [committed[0]])
                connection.commit()
                committed[0] += 1
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    before = committed[0]
    server.back_up(target, silent)
    over.set()
    writer.join()
    restore(target, other, silent)
    with psycopg.connect(embedded(other).conninfo) as connection:
        a, b = ([n for (n,) in connection.execute(query)] for query in ("TABLE a ORDER BY n", "TABLE b ORDER BY n"))
    assert a == b == list(range(len(a)))
    assert before <= len(a) <= committed[0]


def test_nobody_else_can_read_a_backup_or_what_is_restored(whole: Path, other: Path):
    restore(whole, other, silent)
    for top, owner in ((whole, os.geteuid()), (cluster_of(other), run_as())):
        for path in (top, *top.rglob("*")):
            found = path.lstat()
            assert (found.st_mode & 0o777, found.st_uid) == (0o700 if path.is_dir() else 0o600, owner)


@pytest.mark.parametrize("empty", [False, True])
def test_a_target_may_be_an_empty_folder_and_nothing_else(embedded: Starter, target: Path, empty: bool):
    server = embedded()
    target.mkdir()
    if not empty:
        (target / "photo.jpg").touch()
        for act in (server.check_backup, lambda place: server.back_up(place, silent)):
            with pytest.raises(BackupUnusable, match="is not empty"):
                act(target)
        assert list(target.iterdir()) == [target / "photo.jpg"]
    else:
        server.check_backup(target)
        server.back_up(target, silent)
        assert described(target).bytes > 0
    assert list(target.parent.glob("*.unfinished")) == []


@pytest.mark.parametrize("behind", ["folder", "nothing"])
def test_what_cannot_be_replaced_is_no_target_and_a_folder_in_it_is_one(embedded: Starter, target: Path, behind: str):
    server, link = embedded(), target.with_name("link")
    link.symlink_to(target)
    if behind == "folder":
        target.mkdir()
        server.check_backup(link / "new")
    for place in (link, Path("/proc")):
        for act in (server.check_backup, lambda place: server.back_up(place, silent)):
            with pytest.raises(BackupUnusable, match="choose a new folder in it"):
                act(place)
    assert list(target.parent.glob("*.unfinished")) == []


def test_a_file_a_closed_place_and_the_data_itself_are_no_targets(embedded: Starter, data_dir: Path, target: Path):
    server = embedded()
    target.touch()
    away = target.with_name("unmounted") / "mine"
    for place in (target, target / "below", away, data_dir / "mine", data_dir / "data" / "mine", cluster_of(data_dir)):
        with pytest.raises(BackupUnusable):
            server.check_backup(place)
    assert not away.parent.exists()
    with pytest.raises(BackupUnusable, match="no database"):
        EmbeddedServer(target.with_name("nothing")).check_backup(target.with_name("b"))
    assert not target.with_name("nothing").exists()


def test_a_backup_is_not_put_into_another(embedded: Starter, whole: Path):
    server, before = embedded(), sorted(whole.rglob("*"))
    for place in (whole / "new", whole / "postgres" / "base" / "new"):
        for act in (server.check_backup, lambda place: server.back_up(place, silent)):
            with pytest.raises(BackupUnusable, match="is a backup itself"):
                act(place)
    assert sorted(whole.rglob("*")) == before


def test_two_backups_to_one_place_at_once_are_refused(embedded: Starter, target: Path):
    server = embedded()
    with backup.unfinished(target), pytest.raises(BackupUnusable, match="Another backup"):
        server.back_up(target, silent)
    assert described_or_none(target) is None


def described_or_none(folder: Path) -> Backup | None:
    try:
        return described(folder)
    except BackupUnusable:
        return None


def test_trouble_of_the_server_leaves_nothing(embedded: Starter, target: Path):
    server = embedded()
    (cluster_of(server._layout.home) / "base" / "1" / "1259").chmod(0)  # pg_class
    try:
        with pytest.raises(BackupUnusable) as caught:
            server.back_up(target, silent)
    finally:
        (cluster_of(server._layout.home) / "base" / "1" / "1259").chmod(0o600)
    assert "Permission denied" in str(caught.value)
    assert str(server._layout.home) not in str(caught.value)
    assert list(target.parent.glob("backup*")) == []


def kill_in(what: str, home: Path, folder: Path, number: signal.Signals = signal.SIGKILL) -> int:
    """Lets a process begin, signals it when it is half done, and tells how it ended."""
    command = [sys.executable, "-m", "tests.store.backup_process", what, str(home), str(folder), number.name]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def test_a_backup_that_was_killed_is_not_there(embedded: Starter, data_dir: Path, target: Path, other: Path):
    server = embedded()
    assert kill_in("backup", data_dir, target) == -signal.SIGKILL
    assert not target.exists()
    half = target.with_name("backup.unfinished")
    assert half.exists()
    assert "not finished" in refused(half, other)
    until(lambda: is_done(server, target))
    assert not half.exists()
    restore(target, other, silent)
    assert answers(embedded(other).conninfo)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_told_to_stop_leaves_nothing_behind(whole: Path, other: Path, embedded: Starter, number: signal.Signals):
    restore(whole, other, silent)
    target, third = other.with_name("more"), other.with_name("third")
    assert kill_in("backup", other, target, number) == 1
    assert nothing_runs(other)
    assert kill_in("restore", third, whole, number) == 1
    assert list(other.parent.glob("more*")) == []
    assert [path.name for path in (third / "data").glob("postgres*") if path.is_dir()] == []


def is_done(server: EmbeddedServer, target: Path) -> bool:
    """Whether a backup could be made: not while that of the killed process is ending."""
    try:
        server.back_up(target, silent)
    except BackupUnusable as error:
        if "Another backup" not in str(error):
            raise
        return False
    return True


def test_a_restore_that_was_killed_is_no_database(whole: Path, other: Path, embedded: Starter):
    assert kill_in("restore", other, whole) == -signal.SIGKILL
    assert not cluster_of(other).exists()
    assert cluster_of(other).with_name("postgres.new").exists()
    restore(whole, other, silent)
    assert not cluster_of(other).with_name("postgres.new").exists()
    assert notes(embedded(other).conninfo) == ["tea"]


def flip(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)


def rewrite(source: Path, **changed: str) -> None:
    """What the backup says of itself, changed."""
    changed_to = msgspec.structs.replace(described(source), **changed)
    (source / backup.DESCRIPTION).write_bytes(msgspec.json.encode(changed_to))


def without_log(source: Path) -> None:
    for segment in (source / "postgres" / "pg_wal").iterdir():
        if segment.is_file():
            segment.unlink()


def zeroed_log(source: Path) -> None:
    for segment in (source / "postgres" / "pg_wal").iterdir():
        if segment.is_file():
            segment.write_bytes(bytes(segment.stat().st_size))


def linked(source: Path) -> None:
    """A file in whose place a link to it is."""
    file = source / FILE
    file.rename(source / "elsewhere")
    file.symlink_to(source / "elsewhere")


def cut(file: Path, size: int) -> None:
    os.truncate(file, size)


FILE, LIST = "postgres/global/1262", f"postgres/{manifest.NAME}"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit": (lambda source: flip(source / FILE), "damaged: global/1262"),
    "a file cut off": (lambda source: cut(source / FILE, 100), "damaged: global/1262"),
    "a file missing": (lambda source: (source / FILE).unlink(), "incomplete: global/1262 missing"),
    "a link": (linked, "incomplete"),
    "a folder missing": (lambda source: shutil.rmtree(source / "postgres" / "base"), "incomplete"),
    "no cluster": (lambda source: shutil.rmtree(source / "postgres"), "incomplete: backup_manifest"),
    "no manifest": (lambda source: (source / LIST).unlink(), "incomplete: backup_manifest"),
    "another manifest": (lambda source: flip(source / LIST), "damaged: backup_manifest"),
    "an empty manifest": (lambda source: cut(source / LIST, 0), "damaged: backup_manifest"),
    "half a manifest": (lambda source: cut(source / LIST, 5_000), "damaged: backup_manifest"),
    "no description": (lambda source: (source / backup.DESCRIPTION).unlink(), "not finished"),
    "half a description": (lambda source: cut(source / backup.DESCRIPTION, 9), "damaged: memex-backup.json"),
    "no log": (without_log, "cannot recover"),
    "a log of zeros": (zeroed_log, "cannot recover"),
    "no backup": (shutil.rmtree, "not a backup"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused_and_leaves_no_database(whole: Path, other: Path, damage: str):
    spoil, expected = DAMAGES[damage]
    spoil(whole)
    home = other / "within"
    assert expected in refused(whole, home)
    assert nothing_runs(home)
    assert not other.exists()


def test_what_does_not_belong_to_a_backup_is_left_out(whole: Path, other: Path, tmp_path: Path, embedded: Starter):
    (whole / "postgres" / ".DS_Store").write_text("")
    (whole / "postgres" / "base" / "more").symlink_to(tmp_path)
    restore(whole, other, silent)
    assert not (cluster_of(other) / ".DS_Store").exists()
    assert not (cluster_of(other) / "base" / "more").is_symlink()
    assert notes(embedded(other).conninfo) == ["tea"]


def test_another_major_version_is_named(whole: Path, other: Path):
    rewrite(whole, postgresql="17.6", memex="0.0.1")
    message = refused(whole, other, DatabaseUnsuitable)
    assert not other.exists()
    for part in ("PostgreSQL 17.6", "PostgreSQL 18", "memex 0.0.1", "pg_dump"):
        assert part in message


def test_a_database_that_is_there_stays(whole: Path, data_dir: Path, embedded: Starter):
    restore(whole, data_dir, silent)
    for _ in range(2):  # stopped, and running
        assert "already" in refused(whole, data_dir, HomeUnusable)
        server = embedded()
        assert notes(server.conninfo) == ["tea"]


def test_a_directory_that_somebody_uses_is_refused(whole: Path, other: Path, embedded: Starter):
    """A process lives whose database was moved away."""
    layout = Layout(other)
    layout.found(account.current())
    user = Sharing(layout, timeout=1.0)
    with user.joining():
        pass
    assert "uses this data directory" in refused(whole, other, HomeUnusable)
    user.leave(lambda: None)
    restore(whole, other, silent)
    assert notes(embedded(other).conninfo) == ["tea"]
