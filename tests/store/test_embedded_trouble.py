"""Data directories that cannot be used: one sentence each, and nothing left behind."""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from memex.errors import DatabaseUnreachable, DatabaseUnsuitable, HomeUnusable
from memex.store.embedded import EmbeddedServer, Limits, binaries, trouble
from memex.store.embedded.account import Account
from memex.store.embedded.layout import Layout
from memex.store.embedded.locks import FileLock
from tests.fixtures.embedded import Starter, answers, cluster_of, nothing_runs, pid_of, run_as
from tests.fixtures.waiting import until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


def refused(data_dir: Path, kind: type[Exception]) -> str:
    """The one sentence of a start that must fail."""
    with pytest.raises(kind) as caught:
        EmbeddedServer(data_dir).start()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_another_major_version(data_dir: Path, embedded: Starter):
    embedded().stop()
    (cluster_of(data_dir) / "PG_VERSION").write_text("17\n")
    message = refused(data_dir, DatabaseUnsuitable)
    assert "PostgreSQL 17" in message
    assert "PostgreSQL 18" in message
    assert "pg_dump" in message


def test_a_file_in_place_of_the_data_directory(data_dir: Path):
    data_dir.write_text("")
    assert "not a directory" in refused(data_dir, HomeUnusable)


def test_a_file_above_the_data_directory(data_dir: Path):
    data_dir.write_text("")
    assert "not a directory" in refused(data_dir / "below", HomeUnusable)


def test_a_data_directory_that_cannot_be_written():
    # Nobody may make a folder there, root neither.
    assert "not writable" in refused(Path("/sys/memex"), HomeUnusable)


def test_a_folder_that_is_no_cluster(data_dir: Path, embedded: Starter):
    embedded().stop()
    (cluster_of(data_dir) / "PG_VERSION").unlink()
    assert "not a PostgreSQL cluster" in refused(data_dir, HomeUnusable)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"hello\n", b"18\n18\n", "١٨".encode()])
def test_a_version_that_is_none(data_dir: Path, embedded: Starter, content: bytes):
    embedded().stop()
    (cluster_of(data_dir) / "PG_VERSION").write_bytes(content)
    assert "not a PostgreSQL cluster" in refused(data_dir, HomeUnusable)


def test_a_cluster_without_its_control_file(data_dir: Path, embedded: Starter):
    embedded().stop()
    (cluster_of(data_dir) / "global" / "pg_control").unlink()
    # The last words of a server that went down under a client.
    for log in (data_dir / "logs" / "postgresql").glob("postgresql-*.log"):
        with log.open("a") as file:
            file.write("FATAL:  terminating connection due to administrator command\n")
    message = refused(data_dir, DatabaseUnreachable)
    assert 'could not open file "pg_control": No such file or directory' in message
    assert str(data_dir) not in message


def test_what_is_meant_for_another_server_does_not_matter(
    data_dir: Path, embedded: Starter, monkeypatch: pytest.MonkeyPatch
):
    for name, value in (
        ("PGHOST", "192.0.2.1"),
        ("PGHOSTADDR", "192.0.2.1"),
        ("PGPORT", "1"),
        ("PGUSER", "nobody"),
        ("PGDATABASE", "nothing"),
        ("PGOPTIONS", "--no-such-option"),
        ("PGREQUIREAUTH", "scram-sha-256"),
        ("PGTARGETSESSIONATTRS", "standby"),
        ("PGSSLMODE", "verify-full"),
        ("PGSSLNEGOTIATION", "direct"),
        ("PGGSSENCMODE", "require"),
        ("PGCHANNELBINDING", "require"),
        ("PGCLIENTENCODING", "LATIN1"),
    ):
        monkeypatch.setenv(name, value)
    assert answers(embedded().conninfo)


@as_root
def test_a_cluster_of_another_user(data_dir: Path, embedded: Starter):
    embedded().stop()
    os.chown(cluster_of(data_dir), 12345, 12345)
    assert "does not belong to the user" in refused(data_dir, HomeUnusable)


@as_root
def test_a_folder_of_another_user(data_dir: Path, embedded: Starter):
    embedded().stop()
    os.chown(data_dir / "config", 12345, 12345)
    assert "belongs to another user" in refused(data_dir, HomeUnusable)


def test_a_bad_setting_is_named_and_nothing_stays(data_dir: Path, embedded: Starter):
    embedded().stop()
    file = cluster_of(data_dir) / "postgresql.conf"
    good = file.read_text()
    file.write_text(f"{good}nonsense = 1\n")
    message = refused(data_dir, DatabaseUnreachable)
    assert "configuration" in message
    assert str(data_dir) not in message
    until(lambda: nothing_runs(data_dir))
    file.write_text(good)
    assert answers(embedded().conninfo)


def test_a_start_that_takes_too_long_is_given_up(data_dir: Path, embedded: Starter):
    embedded().stop()
    with pytest.raises(DatabaseUnreachable, match="did not start within"):
        EmbeddedServer(data_dir, Limits(start_seconds=0.0)).start()
    until(lambda: nothing_runs(data_dir))
    assert answers(embedded().conninfo)


def test_a_gate_that_stays_shut_is_reported(data_dir: Path, embedded: Starter):
    embedded().stop()
    with FileLock(Layout(data_dir).lock("gate")) as gate:
        assert gate.exclusive()
        with pytest.raises(DatabaseUnreachable, match="Another memex process"):
            EmbeddedServer(data_dir, Limits(start_seconds=0.1)).start()
    assert answers(embedded().conninfo)


def test_a_long_path_gets_its_socket_elsewhere(data_dir: Path, embedded: Starter):
    long = data_dir / ("x" * 60) / ("y" * 60)
    for folder in (data_dir, long.parent):
        folder.mkdir()
        folder.chmod(0o755)
    server = embedded(long)
    sockets = Layout(long).sockets(Account("", run_as(), run_as(), switch=os.geteuid() == 0))
    assert sockets.parent == Path(tempfile.gettempdir())
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert sockets.stat().st_uid == run_as()
    assert str(sockets) in server.conninfo
    assert answers(server.conninfo)
    server.stop()
    assert not sockets.exists()


def test_a_socket_elsewhere_goes_with_its_folder_when_the_server_was_killed(data_dir: Path, embedded: Starter):
    where = data_dir / "a,b"
    server = embedded(where)
    sockets = Path(str(conninfo_to_dict(server.conninfo)["host"]))
    sharing = embedded(where)
    server.stop()
    assert sockets.exists()  # the other one uses it
    os.kill(pid_of(where), signal.SIGKILL)
    sharing.stop()
    assert not sockets.exists()
    until(lambda: nothing_runs(where))


@pytest.mark.parametrize("name", ["a,b", 'a"b'])
def test_a_mark_in_the_path_is_no_list(data_dir: Path, embedded: Starter, name: str):
    server = embedded(data_dir / name)
    assert name not in server.conninfo
    assert answers(server.conninfo)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\u2028b"])
def test_a_line_end_in_the_path_is_refused_in_one_line(data_dir: Path, embedded: Starter, name: str):
    with pytest.raises(HomeUnusable, match=r"has a line end in its name: choose another\.$"):
        embedded(data_dir / name)
    assert not (data_dir / name).exists()


@as_root
def test_a_socket_folder_that_somebody_else_made_is_refused(data_dir: Path):
    long = data_dir / ("x" * 120)
    uid = run_as()
    account = Account("", uid, uid, switch=True)
    sockets = Layout(long).sockets(account)
    try:
        os.chown(sockets, 12345, 12345)
        with pytest.raises(HomeUnusable, match="belongs to another user"):
            Layout(long).sockets(account)
    finally:
        sockets.rmdir()


def test_without_the_package_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch, data_dir: Path):
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package_of_memex")
    assert "DATABASE_URL" in refused(data_dir, DatabaseUnsuitable)


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ('FATAL:  could not write lock file "postmaster.pid": No space left on device', HomeUnusable, "disk"),
        ('[7] PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device', HomeUnusable, "disk"),
        ('initdb: error: could not access directory "/srv/x/y": Permission denied', HomeUnusable, '"y"'),
        (
            "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use",
            DatabaseUnreachable,
            "shared memory",
        ),
        ("LOG:  nothing to see", DatabaseUnreachable, "no reason"),
        ("postgres: cannot go on", DatabaseUnreachable, "starting: postgres: cannot go on."),
        ("", DatabaseUnreachable, "no reason"),
    ],
)
def test_the_servers_reason_is_quoted_without_paths(tmp_path: Path, line: str, kind: type[Exception], said: str):
    log = tmp_path / "start.log"
    log.write_text(f"LOG:  starting\n{line}\nHINT:  none\n")
    error = trouble.explained("starting", [tmp_path / "missing.log", log])
    assert type(error) is kind
    assert said in error.message
    assert "/srv" not in error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            'data directory "/srv/a b/data/postgres" has wrong ownership',
            'data directory "postgres" has wrong ownership',
        ),
        ("could not open /var/lib/x/pg.conf: gone", "could not open pg.conf: gone"),
        ("and/or nothing", "and/or nothing"),
    ],
)
def test_paths_are_shortened(text: str, shown: str):
    assert trouble.without_paths(text) == shown
