"""What root's memex does: an unprivileged server that only root and itself can talk to."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memex.errors import HomeUnusable
from memex.store.embedded import EmbeddedServer, binaries, process, reachable
from tests.fixtures.db import as_superuser
from tests.fixtures.embedded import ROOT, Spawner, Starter, answers, cluster_of, nothing_runs, pid_of, run_as
from tests.fixtures.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what root does")

NOBODY = 65534
CONNECT = """
import sys, psycopg
from tests.store.embedded_process import become
become(int(sys.argv[1]))
psycopg.connect(sys.argv[2]).close()
"""


def connect_as(uid: int, conninfo: str) -> str:
    """What psycopg says to another user; empty when it gets in."""
    command = [sys.executable, "-c", CONNECT, str(uid), conninfo]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT).stderr


def test_the_server_is_not_root(data_dir: Path, embedded: Starter):
    embedded()
    uids = psutil.Process(pid_of(data_dir)).uids()
    assert uids.real == uids.effective == run_as() != 0
    assert psutil.Process(pid_of(data_dir)).environ().keys() & os.environ.keys() <= {"PATH", "LC_ALL"}


def test_another_user_is_kept_out_twice(data_dir: Path, embedded: Starter):
    server = embedded()
    assert "Permission denied" in connect_as(NOBODY, server.conninfo)
    # Even with the folder and the socket open to everybody, the server knows who asks.
    (data_dir / "run").chmod(0o711)
    (data_dir / "run" / ".s.PGSQL.5432").chmod(0o777)
    assert "Peer authentication failed" in connect_as(NOBODY, server.conninfo)
    assert "Peer authentication failed" in connect_as(NOBODY, as_superuser(server.conninfo))
    assert connect_as(0, server.conninfo) == ""


def test_a_data_directory_out_of_reach_is_refused_with_a_remedy(data_dir: Path):
    data_dir.parent.chmod(0o700)
    assert not reachable(data_dir)
    with pytest.raises(HomeUnusable, match="/var/lib/memex"):
        EmbeddedServer(data_dir).start()
    assert data_dir.parent.stat().st_mode & 0o777 == 0o700
    data_dir.parent.chmod(0o711)
    assert reachable(data_dir)


def test_a_closed_data_directory_of_our_own_is_opened_to_passing_through(data_dir: Path, embedded: Starter):
    data_dir.mkdir(mode=0o700)
    assert reachable(data_dir)
    assert answers(embedded().conninfo)
    assert data_dir.stat().st_mode & 0o777 == 0o711


def test_binaries_out_of_reach_are_copied_once(data_dir: Path, embedded: Starter, monkeypatch: pytest.MonkeyPatch):
    closed = data_dir.parent / "closed"
    closed.mkdir(mode=0o700)
    package = binaries.installed().parent
    for name in (package.name, binaries.LIBRARIES):
        (closed / name).symlink_to(package.parent / name)
    monkeypatch.setattr(binaries, "installed", lambda: closed / package.name / binaries.INSTALLATION)
    server = embedded()
    program = Path(psutil.Process(pid_of(data_dir)).exe())
    assert program.is_relative_to(data_dir / "postgresql" / server.describe().version)
    assert program.stat().st_uid == 0
    assert answers(server.conninfo)
    copied = program.stat().st_ino
    server.stop()
    embedded()
    assert program.stat().st_ino == copied


def test_an_ordinary_user_runs_it_as_himself(data_dir: Path, spawn: Spawner):
    data_dir.parent.chmod(0o777)
    child = spawn(NOBODY)
    assert child.stdout is not None
    conninfo = child.stdout.readline().strip()
    assert connect_as(NOBODY, conninfo) == ""
    assert psutil.Process(pid_of(data_dir)).uids().effective == NOBODY
    assert [path.stat().st_mode & 0o777 for path in (data_dir, data_dir / "data", data_dir / "logs")] == [0o700] * 3
    child.communicate()
    assert child.returncode == 0
    assert connect_as(NOBODY, conninfo) != ""


def test_an_ordinary_user_learns_that_the_directory_is_not_his(data_dir: Path, embedded: Starter, spawn: Spawner):
    embedded().stop()
    child = spawn(NOBODY)
    _, said = child.communicate()
    assert child.returncode != 0
    assert said.startswith("home_unusable: ")


def test_a_user_without_a_name_gets_a_remedy(data_dir: Path, spawn: Spawner):
    data_dir.parent.chmod(0o777)
    child = spawn(12345)
    _, said = child.communicate()
    assert said.startswith("home_unusable: User id 12345 has no name")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv to take a right away from root")
def test_root_of_a_container_may_not_look_into_other_processes(data_dir: Path, spawn: Spawner):
    child = spawn(prefix=["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"])
    assert child.stdout is not None
    conninfo = child.stdout.readline().strip()
    assert answers(conninfo)
    killed = pid_of(data_dir)
    os.kill(killed, signal.SIGKILL)
    until(lambda: (noted := process.read_pid_file(cluster_of(data_dir))) and noted.pid != killed)
    until(lambda: answers(conninfo))
    child.communicate()
    assert child.returncode == 0
    until(lambda: nothing_runs(data_dir))
