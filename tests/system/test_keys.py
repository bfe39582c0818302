"""Keys across processes, and across the death of one between its commit and its answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path

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


async def test_processes_heed_each_others_keys(serve: Serve, home: Path, database: str):
    processes = [serve(at=home.with_name(f"home{n}"), MEMEX_DATABASE_URL=database, WORKERS=f"{n}") for n in (1, 2)]
    limits = httpx.Limits(max_keepalive_connections=0)  # a connection for each request, so that both workers get some
    async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as client:
        urls = [process.ready().url for process in processes] * 25
        answers = await asyncio.gather(*[client.post(f"{url}/v1/memories", json=BODY, headers=HEADERS) for url in urls])
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 49
    assert stored(database) == 1


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
