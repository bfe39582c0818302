"""Keys across processes, and across the death of one between its commit and its answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.fixtures.process import Process
from tests.fixtures.relay import Relay
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]
BODY = {"agent_id": "helper", "user_id": "ana", "content": "Ana plays the cello"}
HEADERS = {"idempotency-key": "7d1e5c"}


def stored(database: str) -> int:
    """How many memories are committed."""
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT count(*) FROM memex.memories").fetchone()
        assert found is not None
        return int(found[0])


Request = tuple[str, str, dict[str, Any]]
AT_ONCE = 50


def writes(memory_id: str) -> list[Request]:
    """One of each kind, in an order in which all can be done."""
    own: dict[str, Any] = {"params": {"agent_id": BODY["agent_id"]}}
    path = f"/v1/memories/{memory_id}"
    return [
        ("POST", "/v1/memories/batch", {"json": [BODY | {"content": f"Ana plays number {n}"} for n in range(3)]}),
        ("PATCH", path, own | {"json": {"importance": 0.5}}),
        ("POST", f"{path}/archive", own),
        ("POST", f"{path}/restore", own),
        ("DELETE", path, own),
        ("POST", "/v1/memories/delete", {"json": {name: BODY[name] for name in ("agent_id", "user_id")}}),
    ]


async def test_processes_heed_each_others_keys(serve: Serve, home: Path, database: str):
    processes = [serve(at=home.with_name(f"home{n}"), MEMEX_DATABASE_URL=database, WORKERS=f"{n}") for n in (1, 2)]
    urls = [process.ready().url for process in processes] * (AT_ONCE // 2)
    limits = httpx.Limits(max_keepalive_connections=0)  # a connection for each request, so that both workers get some

    async def everywhere(method: str, path: str, sent: dict[str, Any]) -> httpx.Response:
        """The one answer that all processes give to a request at once."""
        asked = [client.request(method, f"{url}{path}", headers=HEADERS, **sent) for url in urls]
        answers = await asyncio.gather(*asked)
        assert {(answer.status_code, answer.content) for answer in answers} == {
            (answers[0].status_code, answers[0].content)
        }
        assert answers[0].is_success
        assert sum("idempotency-replayed" in answer.headers for answer in answers) == AT_ONCE - 1
        return answers[0]

    async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as client:
        memory = (await everywhere("POST", "/v1/memories", {"json": BODY})).json()
        assert stored(database) == 1
        answers = [(await everywhere(*request)).text for request in writes(memory["id"])]
    assert '"deleted":3' in answers[-1]
    assert stored(database) == 0


async def test_a_write_whose_service_dies_before_it_answers_is_told_to_the_retry(
    serve: Serve, home: Path, database: str, relay: Relay
):
    service = serve(MEMEX_DATABASE_URL=relay.conninfo)
    await asyncio.to_thread(service.ready)
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        url = f"{service.url}/v1/memories"
        assert (await client.post(url, json=BODY | {"content": "first"})).status_code == 201
        relay.answering.clear()
        waiting = asyncio.create_task(client.post(url, json=BODY, headers=HEADERS))
        await asyncio.to_thread(until, lambda: stored(database) == 2)
        assert not waiting.done()
        await asyncio.to_thread(service.kill)
        with pytest.raises(httpx.TransportError):
            await waiting
        relay.answering.set()
        second = serve(at=home.with_name("home2"), MEMEX_DATABASE_URL=database)
        await asyncio.to_thread(second.ready)
        retry = await client.post(f"{second.url}/v1/memories", json=BODY, headers=HEADERS)
    assert (retry.status_code, retry.headers["idempotency-replayed"]) == (201, "true")
    assert retry.json()["content"] == BODY["content"]
    assert stored(database) == 2
