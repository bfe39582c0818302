"""Several processes of one data directory: one server, one owner at a time, and the last one stops it."""

import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from memex.store.embedded import EmbeddedServer, process
from memex.store.embedded.locks import FileLock
from tests.fixtures.embedded import Spawner, Starter, answers, cluster_of, nothing_runs, pid_of, run_as
from tests.fixtures.waiting import until


def line_of(child: subprocess.Popen[str]) -> str:
    """The connection string that a process prints when it uses the server."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_two_share_one_server_and_the_last_stops_it(data_dir: Path, embedded: Starter):
    first, second = embedded(), embedded()
    assert first.conninfo == second.conninfo
    conninfo, pid = first.conninfo, pid_of(data_dir)
    first.stop()
    assert answers(conninfo)
    assert pid_of(data_dir) == pid
    second.stop()
    assert not answers(conninfo)


def test_the_owner_may_be_the_last_to_stop(data_dir: Path, embedded: Starter):
    first, second = embedded(), embedded()
    conninfo = first.conninfo
    second.stop()
    assert answers(conninfo)
    first.stop()
    assert not answers(conninfo)


def test_processes_that_start_at_once_make_one_cluster(data_dir: Path, spawn: Spawner):
    children = [spawn() for _ in range(3)]
    lines = {line_of(child) for child in children}
    assert len(lines) == 1
    assert answers(lines.pop())
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0, 0, 0]
    until(lambda: nothing_runs(data_dir))


def test_another_takes_over_from_a_killed_owner(data_dir: Path, embedded: Starter, spawn: Spawner):
    owner = spawn()
    conninfo = line_of(owner)
    second = embedded()
    assert second.conninfo == conninfo
    pid = pid_of(data_dir)
    owner.kill()
    owner.wait()
    assert answers(conninfo)
    assert pid_of(data_dir) == pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: (noted := process.read_pid_file(cluster_of(data_dir))) and noted.pid != pid)
    until(lambda: answers(conninfo))


def test_another_takes_over_from_an_owner_that_stopped(data_dir: Path, embedded: Starter):
    first, second = embedded(), embedded()
    pid = pid_of(data_dir)
    first.stop()
    os.kill(pid, signal.SIGKILL)
    until(lambda: (noted := process.read_pid_file(cluster_of(data_dir))) and noted.pid != pid)
    until(lambda: answers(second.conninfo))


def test_a_server_that_outlived_its_owner_is_adopted(data_dir: Path, embedded: Starter, spawn: Spawner):
    owner = spawn()
    conninfo, pid = line_of(owner), pid_of(data_dir)
    owner.kill()
    owner.wait()
    adopting = embedded()
    assert adopting.conninfo == conninfo
    assert pid_of(data_dir) == pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: answers(conninfo) and pid_of(data_dir) != pid)
    adopting.stop()
    assert not answers(conninfo)


def test_owner_and_server_killed_together_lose_nothing(data_dir: Path, embedded: Starter, spawn: Spawner):
    owner = spawn()
    with psycopg.connect(line_of(owner)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'yes' AS word")
    owner.kill()
    os.kill(pid_of(data_dir), signal.SIGKILL)
    owner.wait()
    with psycopg.connect(embedded().conninfo) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("yes",)]


def test_a_pid_file_that_names_another_program_fools_nobody(data_dir: Path, embedded: Starter):
    embedded().stop()
    # The same account, or PostgreSQL itself would see through it.
    options = {"user": run_as()} if os.geteuid() == 0 else {}
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, **options)  # type: ignore[call-overload]
    try:
        lines = [stranger.pid, cluster_of(data_dir), 1, 5432, data_dir / "run", "", "  1  1", "ready   "]
        for file in (cluster_of(data_dir) / "postmaster.pid", data_dir / "run" / ".s.PGSQL.5432.lock"):
            file.write_text("\n".join(map(str, lines)))
            os.chown(file, run_as(), -1)
        server = embedded()
        assert pid_of(data_dir) != stranger.pid
        assert answers(server.conninfo)
        server.stop()
        assert stranger.poll() is None
    finally:
        stranger.communicate()


def test_an_empty_pid_file_does_not_matter(data_dir: Path, embedded: Starter):
    embedded().stop()
    (cluster_of(data_dir) / "postmaster.pid").touch()
    assert answers(embedded().conninfo)


def test_a_half_made_cluster_is_made_anew(data_dir: Path):
    (data_dir / "data" / "postgres.new" / "base").mkdir(parents=True)
    (data_dir / "data" / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = EmbeddedServer(data_dir)
    assert answers(server.start())
    assert not (data_dir / "data" / "postgres.new").exists()
    server.stop()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_worker_does_not_keep_a_lock(tmp_path: Path):
    held = FileLock(tmp_path / "lock")
    assert held.exclusive()
    with FileLock(tmp_path / "lock") as other:
        assert not other.exclusive()
        assert not other.shared()
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        try:
            until(lambda: not holds(child, tmp_path / "lock"))
            held.close()
            assert other.exclusive()
        finally:
            os.close(writing)
            os.close(reading)
            os.waitpid(child, 0)


def holds(pid: int, file: Path) -> bool:
    """Whether a process has a file open."""
    return any(Path(link).resolve() == file for link in Path(f"/proc/{pid}/fd").iterdir())
