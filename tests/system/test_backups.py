"""`memex backup` and `memex restore` as people run them, beside a service and without one."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memex import __version__
from tests.fixtures.process import Process, end_database, run
from tests.fixtures.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]
ANA = {"agent_id": "assistant", "user_id": "ana"}


def said(*arguments: str, code: int = 0, **environment: str) -> str:
    """What a command prints."""
    command: subprocess.Popen[str] = run(*arguments, **environment)
    output = command.communicate(timeout=PATIENCE)[0]
    assert command.returncode == code, output
    return output


def store(service: Process, content: str) -> None:
    with service.client() as client:
        assert client.post("/v1/memories", json=ANA | {"content": content}).status_code == 201


def found(service: Process) -> list[str]:
    with service.client() as client:
        answer = client.post("/v1/memories/search", json=ANA | {"query": "What does she drink?"})
    return [hit["content"] for hit in answer.json()["results"]]


def test_memories_come_back_by_search(serve: Serve, home: Path):
    target, other, third = (home.with_name(name) for name in ("backup", "other", "third"))
    service = serve().ready()
    store(service, "Ana drinks green tea in the morning")
    assert "is a backup of 4" in said("backup", str(target), "--data-dir", str(home))
    store(service, "Ana has moved to Lisbon")
    assert "already" in said("restore", str(target), "--data-dir", str(home), code=1)
    told = said("restore", str(target), "--data-dir", str(other))
    assert f"memex {__version__} with PostgreSQL 18" in told
    assert found(serve(at=other).ready()) == ["Ana drinks green tea in the morning"]
    assert len(found(service)) == 2
    # Without a service the command brings the database up itself, and leaves nothing running.
    assert service.stop() == 0
    said("backup", str(target.with_name("second")), "--data-dir", str(home))
    assert list(home.glob("data/postgres/postmaster.pid")) == []
    said("restore", str(target.with_name("second")), "--data-dir", str(third))
    assert len(found(serve(at=third).ready())) == 2


def test_what_cannot_be_done_is_one_line_and_makes_nothing(home: Path):
    target = home.with_name("backup")
    for words, arguments in (
        ("There is no database", ("backup", str(target), "--data-dir", str(home))),
        ("not a backup", ("restore", str(target), "--data-dir", str(home))),
        ("of your own", ("backup", str(target), "--database-url", "postgresql://127.0.0.1:1/x")),
        ("of your own", ("restore", str(target), "--database-url", "postgresql://127.0.0.1:1/x")),
    ):
        output = said(*arguments, code=1)
        assert output.startswith("memex: ")
        assert words in output
        assert output.count("\n") == 1
    assert not home.exists()
    assert not target.exists()


@pytest.fixture(autouse=True)
def nothing_left(home: Path):
    yield
    for name in ("home", "other", "third"):
        end_database(home.with_name(name))
