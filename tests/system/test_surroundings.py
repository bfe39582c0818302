"""What a process is given from outside, time zones and very long texts, does not change what it answers."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import psutil
import pytest

from tests.fixtures.process import Process

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]
OWNER = {"agent_id": "helper", "user_id": "ana"}
MIB = 2**20


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_times_are_in_utc_whatever_the_zone_of_the_process(serve: Serve, database: str, zone: str):
    service = serve(DATABASE_URL=database, TZ=zone, PGTZ=zone).ready()
    with service.client() as client:
        memory = client.post("/v1/memories", json=OWNER | {"content": "Ana plays the cello"}).json()
        created = datetime.fromisoformat(memory["created_at"])
        assert memory["created_at"].endswith("Z")
        assert abs(created - datetime.now(UTC)) < timedelta(minutes=1)
        naive = client.post("/v1/memories", json=OWNER | {"content": "x", "created_at": "2024-05-01T10:00"}).json()
        assert naive["created_at"] == "2024-05-01T10:00:00.000000Z"
        for hours in (0, -8, 9):
            moment = created.astimezone(timezone(timedelta(hours=hours))).isoformat()
            for bound, found in (({"created_before": moment}, naive), ({"created_after": moment}, memory)):
                body = OWNER | {"query": "cello", "mode": "keyword", "filters": bound}
                hits = client.post("/v1/memories/search", json=body).json()["results"]
                assert [hit["id"] for hit in hits] == [found["id"]], moment
    assert service.stop() == 0


def test_many_long_texts_at_once_take_bounded_memory_and_the_rest_is_answered_meanwhile(serve: Serve, database: str):
    service = serve(DATABASE_URL=database).ready()
    with service.client() as client, ThreadPoolExecutor(24) as threads:
        assert client.post("/v1/memories", json=OWNER | {"content": "Ana plays the cello"}).status_code == 201
        before = peak(service)
        writes = [threads.submit(client.post, "/v1/memories", json=OWNER | {"content": long(n)}) for n in range(24)]
        while not all(write.done() for write in writes):
            assert client.get("/v1/memories/count", params=OWNER).status_code == 200
            assert client.get("/livez").status_code == 200
        answers = [write.result() for write in writes]
        assert {answer.status_code for answer in answers} <= {201, 503}
        # What would wait too long is refused with the time to come back; the rest is stored whole.
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status_code == 503)
        stored = [answer.json() for answer in answers if answer.status_code == 201]
        assert stored
        assert all(len(memory["content"]) == 8_000 for memory in stored)
        assert client.get("/v1/memories/count", params=OWNER).json()["count"] == len(stored) + 1
        assert peak(service) - before < 400 * MIB
    assert service.stop() == 0


def long(number: int) -> str:
    """8,000 characters in short words: about four windows of the model."""
    return " ".join(f"{number} swans and {word} geese" for word in range(1_000))[:8_000]


def peak(service: Process) -> int:
    """The most memory that the worker ever had, in bytes."""
    (worker,) = [p for p in psutil.Process(service.popen.pid).children() if "spawn_main" in " ".join(p.cmdline())]
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker.pid}/status").read_text())
    return int(kib) * 1024


def test_nothing_is_written_outside_the_data_directory(serve: Serve, home: Path):
    """Libraries keep caches, ids and reports of use in the user's home, if they are let."""
    user = home.parent / "user"
    user.mkdir()
    service = serve(HOME=str(user), XDG_CACHE_HOME=str(user / "cache")).ready()
    with service.client() as client:
        assert client.post("/v1/memories", json=OWNER | {"content": "Ana plays the cello"}).status_code == 201
    assert service.stop() == 0
    assert list(user.rglob("*")) == []
