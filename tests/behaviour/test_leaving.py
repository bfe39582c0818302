"""Clients that leave, at every route: no error in the metrics or the log, and nothing behind."""

import json
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from memex.api.examples import NEW
from tests.behaviour.documented import Json, address, entries, written
from tests.behaviour.manifest import proves
from tests.fixtures.app import Running


async def leave(service: Running, method: str, url: str, messages: list[Any], *, deaf: bool) -> list[Any]:
    """One request whose client says `messages` and no more; a deaf one has closed its end when the answer comes."""
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if deaf:
            raise BrokenPipeError
        sent.append(message)

    path, _, query = url.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method.upper(), "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "server": None,
        "client": None, "headers": [(b"host", b"localhost:8000"), (b"content-type", b"application/json")],
    }  # fmt: skip
    await service.app(scope, receive, send)
    return sent


def counted(text: str) -> dict[str, float]:
    """Requests by status."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "http_requests_total":
                found[sample.labels["status"]] = found.get(sample.labels["status"], 0) + sample.value
    return found


def idle(database: str) -> bool:
    """Whether no transaction of the service is open."""
    with psycopg.connect(database) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        ).fetchone()
    return row == (0,)


@proves("clients.hang-up")
async def test_who_leaves_before_the_body_is_complete_has_done_nothing(
    service: Running, described: Json, identity: str, database: str, caplog: pytest.LogCaptureFixture
):
    before, asked = written(database), 0
    for method, path, entry in entries(described):
        if "requestBody" in entry:
            raw = json.dumps(entry["requestBody"]["content"]["application/json"]["example"]).encode()
            for end in (0, 1, len(raw) - 1, len(raw)):
                part = {"type": "http.request", "body": raw[:end], "more_body": True}
                sent = await leave(service, method, address(path, entry, identity), [part] if end else [], deaf=False)
                assert sent[0]["status"] == 400  # who has not left has broken HTTP
                asked += 1
    text = (await service.client.get("/metrics")).text
    assert counted(text) == {"2xx": 2.0, "499": asked}
    assert "memex_requests_in_flight 1.0" in text  # this one
    assert written(database) == before
    assert idle(database)
    assert [one for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []


@proves("clients.hang-up")
async def test_who_leaves_before_the_answer_is_no_error(
    service: Running, described: Json, database: str, caplog: pytest.LogCaptureFixture
):
    asked = 0
    for method, path, entry in entries(described):
        stored = (await service.client.post("/v1/memories", json=NEW)).json()["id"]
        content = entry.get("requestBody", {}).get("content", {}).get("application/json")
        raw = json.dumps(content["example"]).encode() if content else b""
        await leave(service, method, address(path, entry, stored), [{"type": "http.request", "body": raw}], deaf=True)
        asked += 1
    text = (await service.client.get("/metrics")).text
    assert counted(text) == {"2xx": asked + 1.0, "499": asked}
    assert "memex_requests_in_flight 1.0" in text
    assert idle(database)
    assert [one for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []
