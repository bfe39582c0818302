"""What is deleted is nowhere: by no route, in no mode, in no figure, of no process, and it comes back by nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode
from memex.settings import Index
from tests.behaviour.asking import ANA, change, count, delete, search, store, texts
from tests.fixtures.app import Run, Running

Memory = dict[str, Any]
Removal = Callable[[httpx.AsyncClient, list[Memory], str], Awaitable[None]]
OTHER = ANA | {"agent_id": "other"}
FIELDS: Memory = {"tags": ["t"], "metadata": {"k": 1}, "session_id": "s", "visibility": "shared"}
TEXTS = [f"green tea {number}" for number in range(10)]
KEPT = TEXTS[:7]


async def one_by_one(rest: httpx.AsyncClient, memories: list[Memory], _: str) -> None:
    for memory in memories:
        await delete(rest, memory)


async def by_conditions(rest: httpx.AsyncClient, memories: list[Memory], _: str) -> None:
    asked = {"agent_id": "assistant", "ids": [memory["id"] for memory in memories], "tags_any": ["t"]}
    assert (await rest.post("/v1/memories/delete", json=asked)).json()["deleted"] == len(memories)


async def as_notes(rest: httpx.AsyncClient, memories: list[Memory], _: str) -> None:
    for memory in memories:
        assert (await rest.delete(f"/api/memories/{memory['id']}", params=ANA)).status_code == 200


async def by_expiry(_: httpx.AsyncClient, memories: list[Memory], database: str) -> None:
    """By a change that makes them expire now: a moment that no request can name."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(
            "WITH s AS (UPDATE memex.spaces SET version = version + 1 RETURNING space_key, version)"
            " UPDATE memex.memories AS m SET expires_at = now(), space_version = s.version"
            " FROM s WHERE m.space_key = s.space_key AND m.id = any(%s::uuid [])",
            [[memory["id"] for memory in memories]],
        )


@pytest.fixture
async def services(run: Run) -> AsyncIterator[list[Running]]:
    """Three on one database, as three processes are: two keep spaces in memory, one has no room for any."""
    async with run() as one, run() as another, run(index=Index(memory=1)) as bare:
        yield [one, another, bare]


async def found(rest: httpx.AsyncClient, **asked: Any) -> list[str]:
    """By the own agent and by one that reads what is shared."""
    own = await texts(rest, "green tea", top_k=50, **asked)
    assert sorted(await texts(rest, "green tea", top_k=50, agents="*", **OTHER, **asked)) == sorted(own)
    return sorted(own)


async def check_searches(rest: httpx.AsyncClient, before: str) -> None:
    for mode in Mode:
        for filters in (None, {"tags_any": ["t"]}, {"metadata": {"k": {"exists": True}}}, {"session_id": "s"}):
            for collapse in (True, False):
                asked = {"mode": mode, "filters": filters, "collapse": collapse, "include_archived": True}
                assert await found(rest, **asked) == KEPT, asked
        assert await found(rest, mode=mode, as_of=before) == KEPT


async def check_lists_and_figures(rest: httpx.AsyncClient) -> None:
    for asked in ({}, {"tags_any": "t"}, {"session_id": "s"}, {"created_after": "2001-01-01"}):
        for who in (ANA, OTHER | {"agents": "*"}):
            page = (await rest.get("/v1/memories", params=who | asked)).json()
            assert (sorted(memory["content"] for memory in page["memories"]), page["total"]) == (KEPT, len(KEPT))
    assert await count(rest) == len(KEPT)
    for who in (ANA, OTHER | {"agents": "*"}):
        assert (await rest.get("/v1/stats", params=who)).json()["memories"]["total"] == len(KEPT)
    packet = (await rest.post("/v1/context", json=ANA | {"query": "green tea", "top_k": 50, "max_tokens": 4000})).json()
    assert (len(packet["ids"]), packet["total"]) == (len(KEPT), len(KEPT))
    notes = (await rest.get("/api/memories", params=ANA)).json()
    assert sorted(note["content"] for note in notes) == KEPT


async def check_calls(rest: httpx.AsyncClient, gone: list[Memory]) -> None:
    for memory in gone:
        path = f"/v1/memories/{memory['id']}"
        for who in (ANA, OTHER):
            for answer in (
                await rest.get(path, params=who),
                await rest.get(f"{path}/history", params=who),
                await rest.patch(path, params=who, json={"importance": 2.0}),
                await rest.post(f"{path}/archive", params=who),
                await rest.post(f"{path}/restore", params=who),
            ):
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("remove", [one_by_one, by_conditions, as_notes, by_expiry])
async def test_what_is_deleted_is_nowhere(services: list[Running], database: str, remove: Removal):
    clients = [service.client for service in services]
    stored = [await store(clients[0], text, **FIELDS) for text in TEXTS]
    gone = [await change(clients[0], memory, importance=1.5) for memory in stored[7:]]
    for rest in clients:
        assert len(await search(rest, "green tea", top_k=50)) == len(TEXTS)
    await remove(clients[0], gone, database)
    for rest in clients:
        await check_searches(rest, gone[-1]["updated_at"])
        await check_lists_and_figures(rest)
        await check_calls(rest, gone)
    again = [await clients[1].delete(f"/v1/memories/{memory['id']}", params=ANA) for memory in gone]
    assert {answer.status_code for answer in again} == {204 if remove is by_expiry else 404}


async def test_what_takes_the_name_of_a_deleted_memory_inherits_nothing_of_it(services: list[Running]):
    """No vector and no word: it is as far from the former text as any other memory of its own text."""
    first = services[0].client
    for _ in range(3):
        former = await store(first, "I drive a red car", external_id="x")
        for service in services:
            for mode in Mode:
                assert await texts(service.client, "red car", mode=mode) == ["I drive a red car"]
        await delete(first, former)
        heir = await store(first, "I keep bees", external_id="x")
        other = await store(first, "I keep bees", user_id="ben")
        assert (heir["version"], heir["duplicate_of"]) == (1, None)
        for service in services:
            for mode in Mode:
                asked = {"mode": mode, "alpha": 1.0, "explain": True}
                (hit,) = await search(service.client, "red car", **asked)
                (like,) = await search(service.client, "red car", user_id="ben", **asked)
                assert (hit["id"], hit["explain"]) == (heir["id"], like["explain"] | recency(hit))
        await delete(first, heir)
        await delete(first, other)


def recency(hit: Memory) -> dict[str, float]:
    """Two memories are not of one moment."""
    return {"recency": hit["explain"]["recency"]}
