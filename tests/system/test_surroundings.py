"""What a process is given from outside, such as time zones, does not change what it answers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from memex.model import Mode
from tests.fixtures.process import Process

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]
OWNER = {"agent_id": "helper", "user_id": "ana"}


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
                for mode in Mode:
                    body = OWNER | {"query": "cello", "mode": mode, "filters": bound}
                    hits = client.post("/v1/memories/search", json=body).json()["results"]
                    assert [hit["id"] for hit in hits] == [found["id"]], moment
    assert service.stop() == 0


def test_nothing_is_written_outside_the_data_directory(serve: Serve, home: Path):
    """Libraries keep caches, ids and reports of use in the user's home, if they are let."""
    user = home.parent / "user"
    user.mkdir()
    service = serve(HOME=str(user), XDG_CACHE_HOME=str(user / "cache")).ready()
    with service.client() as client:
        assert client.post("/v1/memories", json=OWNER | {"content": "Ana plays the cello"}).status_code == 201
    assert service.stop() == 0
    assert list(user.rglob("*")) == []
