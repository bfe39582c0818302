"""The embedded server by itself: what it makes, what it keeps, and that it comes back."""

import os
import signal
import stat
import threading
from pathlib import Path

import psutil
import psycopg
import pytest

from memex.errors import DatabaseUnreachable
from memex.store.embedded import EmbeddedServer, process
from memex.store.embedded.cluster import Cluster
from tests.fixtures.db import as_superuser
from tests.fixtures.embedded import Starter, answers, cluster_of, nothing_runs, pid_of
from tests.fixtures.waiting import until


def test_a_first_start_makes_everything(data_dir: Path):
    server = EmbeddedServer(data_dir)
    assert answers(server.start())
    server.stop()


def test_a_restart_finds_everything(data_dir: Path, embedded: Starter):
    first = embedded()
    with psycopg.connect(first.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'yes' AS word")
    before = pid_of(data_dir)
    first.stop()
    second = embedded()
    assert pid_of(data_dir) != before
    with psycopg.connect(second.conninfo) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("yes",)]


def test_start_and_stop_may_be_repeated(data_dir: Path):
    server = EmbeddedServer(data_dir)
    server.stop()
    conninfo = server.start()
    assert server.start() == conninfo
    assert answers(conninfo)
    server.stop()
    server.stop()
    assert not answers(conninfo)
    with pytest.raises(DatabaseUnreachable, match="has not been started"):
        _ = server.conninfo
    assert server.start() == conninfo
    assert answers(conninfo)
    server.stop()


def test_nobody_else_sees_the_data(data_dir: Path, embedded: Starter):
    embedded()
    through = 0o711 if os.geteuid() == 0 else 0o700
    assert mode(data_dir) == mode(data_dir / "data") == mode(data_dir / "logs") == through
    private = [data_dir / "config", data_dir / "run", data_dir / "logs" / "postgresql", cluster_of(data_dir)]
    assert [mode(folder) for folder in private] == [0o700] * 4
    assert [path for path in cluster_of(data_dir).rglob("*") if mode(path) & 0o077] == []


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_is_above_the_data_directory_keeps_its_mode(data_dir: Path, embedded: Starter):
    data_dir.parent.chmod(0o751)
    data_dir.mkdir(mode=0o700)
    embedded()
    assert mode(data_dir.parent) == 0o751


def test_memex_is_an_ordinary_role_on_a_durable_server(embedded: Starter):
    server = embedded()
    with psycopg.connect(server.conninfo) as connection:
        row = connection.execute("SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user").fetchone()
        assert row == (False, False)
        names = ("fsync", "synchronous_commit", "full_page_writes", "data_checksums", "listen_addresses")
        settings = [connection.execute("SELECT current_setting(%s)", [name]).fetchone() for name in names]
        assert settings == [("on",), ("on",), ("on",), ("on",), ("",)]
        assert connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector").fetchone() == (1.0,)
    with psycopg.connect(as_superuser(server.conninfo)) as connection:
        methods = connection.execute("SELECT DISTINCT type, auth_method FROM pg_hba_file_rules").fetchall()
    assert methods == [("local", "peer")]


def test_the_log_holds_no_content(data_dir: Path, embedded: Starter):
    server = embedded()
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE TABLE diary (entry text UNIQUE CHECK (entry <> 'my secret'))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO diary VALUES ('my secret')")
    server.stop()
    text = "".join(log.read_text() for log in (data_dir / "logs" / "postgresql").glob("*.log"))
    assert "violates check constraint" in text
    assert "my secret" not in text


def test_old_logs_are_removed(data_dir: Path, embedded: Starter):
    embedded().stop()
    logs = data_dir / "logs" / "postgresql"
    for year in range(1990, 2010):
        (logs / f"postgresql-{year}0101-000000.log").touch()
    embedded()
    kept = sorted(log.name for log in logs.glob("postgresql-*.log"))
    assert "postgresql-20090101-000000.log" in kept
    assert "postgresql-19990101-000000.log" not in kept


def test_a_description_costs_no_server(data_dir: Path, embedded: Starter):
    server = embedded()
    shown = server.describe()
    assert shown.version.startswith("18.")
    assert shown.pid == pid_of(data_dir)
    assert 10_000_000 < shown.data_bytes < 200_000_000
    server.stop()
    assert EmbeddedServer(data_dir).describe().pid is None


def test_a_killed_server_comes_back_with_what_it_acknowledged(data_dir: Path, embedded: Starter):
    server = embedded()
    with psycopg.connect(server.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'yes' AS word")
    killed = pid_of(data_dir)
    with psycopg.connect(server.conninfo) as busy:
        # A backend in the middle of a statement outlives its postmaster, and keeps the shared memory.
        orphan = busy.info.backend_pid
        sleeping = threading.Thread(target=sleep_in, args=(busy,))
        sleeping.start()
        until(lambda: is_sleeping(server.conninfo, orphan))
        os.kill(killed, signal.SIGKILL)
        until(lambda: answers(server.conninfo))
        sleeping.join()
    assert pid_of(data_dir) != killed
    with psycopg.connect(server.conninfo) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("yes",)]


def sleep_in(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT pg_sleep(600)")


def is_sleeping(conninfo: str, backend: int) -> bool:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT wait_event FROM pg_stat_activity WHERE pid = %s", [backend]).fetchone()
        return row == ("PgSleep",)


def test_it_comes_back_as_often_as_it_is_killed(data_dir: Path, embedded: Starter):
    server = embedded()
    for _ in range(3):
        kill_and_await_another(data_dir)
        until(lambda: answers(server.conninfo))


def kill_and_await_another(data_dir: Path) -> None:
    killed = pid_of(data_dir)
    os.kill(killed, signal.SIGKILL)
    until(lambda: (noted := process.read_pid_file(cluster_of(data_dir))) and noted.pid != killed)


def test_a_stop_during_a_restart_leaves_no_server(data_dir: Path, embedded: Starter):
    server = embedded()
    os.kill(pid_of(data_dir), signal.SIGKILL)
    server.stop()
    until(lambda: nothing_runs(data_dir))


def test_supervision_outlives_faults_of_its_own(
    data_dir: Path, embedded: Starter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    server = embedded()
    look, faults = Cluster.running, [psutil.AccessDenied(1), IndexError("list index out of range")]

    def running(cluster: Cluster) -> process.Process | None:
        if faults and threading.current_thread().name == "postgres-supervisor":
            raise faults.pop()
        return look(cluster)

    monkeypatch.setattr(Cluster, "running", running)
    os.kill(pid_of(data_dir), signal.SIGKILL)
    until(lambda: answers(server.conninfo))
    assert faults == []
    told = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert told == [IndexError, psutil.AccessDenied]


def test_a_process_without_a_command_line_is_no_server(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    """As one that has ended, in a container whose root may not look into it."""

    def closed(_: psutil.Process) -> str:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "name", lambda _: process.PROGRAM)
    monkeypatch.setattr(psutil.Process, "cwd", closed)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: [])
    with process.Process(os.getpid()) as own:
        assert own.serves(cluster_of(data_dir), os.geteuid()) is False
