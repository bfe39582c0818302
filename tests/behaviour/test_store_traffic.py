"""What a request costs the database, and what a client sees when the database is away, slow or broken."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from memex.settings import Database, Index, Limits, Server
from tests.behaviour.asking import ANA, ask, count, delete, search, store, store_all, texts
from tests.behaviour.manifest import proves
from tests.fixtures.app import Run
from tests.fixtures.relay import Relay
from tests.fixtures.waiting import PATIENCE

# Words that only a trace, a statement or a path would bring.
INNER = ("psycopg", "Traceback", "SELECT", "UPDATE", "INSERT", "relation", "memex.memories", "127.0.0.1", ".py", "/tmp")  # noqa: S108


@pytest.fixture
async def relayed(run: Run, relay: Relay) -> AsyncIterator[httpx.AsyncClient]:
    """A service with one connection to its database, through the relay, and with rate limits on."""
    on = Limits(writes_per_minute=10_000, searches_per_minute=10_000)
    pool = Database(min_pool_size=1, max_pool_size=1, command_timeout=5.0, pool_timeout=5.0)
    async with run(relay.conninfo, database=pool, limits=on) as service:
        yield service.client


def requests(rest: httpx.AsyncClient, memory_id: str) -> dict[str, Any]:
    """One of each kind that needs the database."""
    path, own = f"/v1/memories/{memory_id}", {"agent_id": "assistant"}
    return {
        "change": lambda: rest.patch(path, params=own, json={"content": "black tea"}),
        "change of a user": lambda: rest.patch(path, params=ANA, json={"importance": 2.0}),
        "archive": lambda: rest.post(f"{path}/archive", params=ANA),
        "restore": lambda: rest.post(f"{path}/restore", params=ANA),
        "read": lambda: rest.get(path, params=own),
        "history": lambda: rest.get(f"{path}/history", params=own),
        "store": lambda: rest.post("/v1/memories", json=ANA | {"content": "black coffee"}),
        "search": lambda: ask(rest, "tea"),
        "count": lambda: rest.get("/v1/memories/count", params=ANA),
        "delete": lambda: rest.delete(path, params=own),
        "delete of a user": lambda: rest.delete(path, params=ANA),
        "health": lambda: rest.get("/health"),
        "ready": lambda: rest.get("/readyz"),
    }


async def test_a_search_is_one_round_trip_that_brings_the_hits_and_nothing_else(
    relayed: httpx.AsyncClient, relay: Relay
):
    await store_all(relayed, [f"tea number {n}" for n in range(120)])
    await search(relayed, "tea")
    for query, k in (("tea", 5), ("a question of its own", 5), ("tea", 50), ("tea", 1)):
        relay.reset()
        assert len(await search(relayed, query, top_k=k)) == k
        assert (relay.turns, relay.rows) == (1, k)
    relay.reset()
    await asyncio.gather(*[search(relayed, f"question {n}") for n in range(40)])
    assert (relay.turns, relay.rows) == (40, 400)


async def test_a_write_a_delete_and_a_count_are_one_round_trip_each(relayed: httpx.AsyncClient, relay: Relay):
    # The first time, a connection also learns the statement.
    await delete(relayed, await store(relayed, "black coffee"))
    await count(relayed)
    relay.reset()
    memory = await store(relayed, "green tea")
    assert relay.turns == 1
    relay.reset()
    assert await count(relayed) == 1
    assert relay.turns == 1
    relay.reset()
    assert (await relayed.delete(f"/v1/memories/{memory['id']}", params=ANA)).status_code == 204
    assert relay.turns == 1


async def test_a_change_is_one_round_trip_where_the_user_is_named_and_reading_by_id_too(
    relayed: httpx.AsyncClient, relay: Relay
):
    path = f"/v1/memories/{(await store(relayed, 'green tea'))['id']}"
    for number in range(2):  # the first time, a connection also learns the statements
        for act, named, turns in (
            (relayed.patch(path, params=ANA, json={"content": f"black tea {number}"}), True, 1),
            (relayed.post(f"{path}/archive", params=ANA), True, 1),
            (relayed.post(f"{path}/restore", params={"agent_id": ANA["agent_id"]}), False, 2),
            (relayed.get(path, params=ANA), True, 1),
            (relayed.get(f"{path}/history", params=ANA), True, 1),
        ):
            relay.reset()
            assert (await act).status_code == 200
            assert number == 0 or relay.turns == turns, named


async def test_a_vector_travels_as_two_bytes_a_dimension(relayed: httpx.AsyncClient, relay: Relay):
    for _ in range(2):  # the first one of a connection also sends the statement
        relay.reset()
        await store(relayed, "green tea")
    assert 2 * 384 < relay.sent < 2 * 384 + 1_000


async def test_writes_that_come_together_share_their_round_trips(relayed: httpx.AsyncClient, relay: Relay):
    relay.reset()
    await store_all(relayed, [f"tea number {n}" for n in range(100)])
    assert relay.turns < 50


@proves("failures.health", "failures.not-empty")
async def test_a_database_that_is_away_is_503_everywhere_and_never_an_empty_list(
    relayed: httpx.AsyncClient, relay: Relay
):
    memory = await store(relayed, "green tea")
    assert await texts(relayed, "tea") == ["green tea"]
    await relay.cut()
    for name, request in requests(relayed, memory["id"]).items():
        answer = await request()
        assert answer.status_code == 503, name
        assert "results" not in answer.json()
        assert not [word for word in INNER if word in answer.text], answer.text
        if name not in ("health", "ready"):
            assert answer.json()["code"] == "store_unavailable", name
            assert int(answer.headers["retry-after"]) >= 1
    assert (await relayed.get("/health")).json()["db"] == "error"
    assert (await relayed.get("/livez")).status_code == 200
    await relay.open()
    assert await texts(relayed, "tea") == ["green tea"]
    assert (await relayed.get("/health")).status_code == 200


IN_FLIGHT: list[dict[str, Any]] = [
    {},
    {"mode": "semantic"},
    {"mode": "keyword"},
    {"filters": {"metadata": {"n": {"gte": 0}}}},
    {"explain": True, "agents": "*"},
]
"""Searches in memory and with ids that the database chooses."""


@pytest.mark.parametrize("changed", [False, True], ids=["unchanged", "changed elsewhere"])
@pytest.mark.parametrize("memory", [None, 1], ids=["resident", "too large for memory"])
async def test_searches_in_flight_while_the_database_restarts_are_right_or_503(
    run: Run, database: str, relay: Relay, memory: int | None, changed: bool
):
    index = {} if memory is None else {"index": Index(memory=memory)}
    pool = Database(min_pool_size=2, max_pool_size=8, command_timeout=5.0, pool_timeout=5.0)
    async with run(database) as other, run(relay.conninfo, database=pool, **index) as service:
        right = {f"tea number {n}" for n in range(20)}
        await store_all(other.client, right, metadata={"n": 1})
        assert set(await texts(service.client, "tea", top_k=50)) == right
        if changed:
            await store(other.client, "tea of later", metadata={"n": 2})
            right.add("tea of later")
        wanted = [*IN_FLIGHT, {"as_of": datetime.now(UTC).isoformat()}]
        relay.answering.clear()
        relay.reset()
        asking = [asyncio.create_task(ask(service.client, "tea", top_k=50, **fields)) for fields in wanted]
        await relay.asked.wait()
        await relay.cut()
        relay.answering.set()
        await relay.open()
        for answer in await asyncio.gather(*asking):
            assert answer.status_code in (200, 503), answer.text
            if answer.status_code == 200:
                assert {hit["content"] for hit in answer.json()["results"]} == right
        for fields in wanted:
            assert set(await texts(service.client, "tea", top_k=50, **fields)) == right


async def test_a_database_that_stands_still_is_503_in_time_and_all_is_well_after(run: Run, database: str):
    slow = Database(max_pool_size=2, command_timeout=1.0, pool_timeout=0.2)
    async with run(database=slow) as service, await psycopg.AsyncConnection.connect(database) as blocker:
        memory = await store(service.client, "green tea")
        assert await texts(service.client, "tea") == ["green tea"]
        await blocker.execute("LOCK TABLE memex.spaces, memex.memories IN ACCESS EXCLUSIVE MODE")
        # Many more than there are connections: those that do not get one are refused, not queued without end.
        asked = [request() for request in requests(service.client, memory["id"]).values()]
        crowd = [ask(service.client, f"tea {n}") for n in range(40)]
        answers = await asyncio.gather(*asked, *crowd)
        # Health and readiness ask for no table, so they are well as soon as they get a connection.
        assert {a.status_code for a in answers if "/v1/" in str(a.url)} == {503}
        assert {a.json()["code"] for a in answers if "/v1/" in str(a.url)} == {"overloaded", "store_unavailable"}
        assert {a.status_code for a in answers} <= {200, 503}
        await blocker.rollback()
        assert await texts(service.client, "tea") == ["green tea"]
        assert await count(service.client) == 1


async def test_searches_that_wait_for_changes_of_a_space_wait_no_longer_than_one_command(run: Run, database: str):
    slow = Database(command_timeout=1.0)
    async with run(database=slow) as service, await psycopg.AsyncConnection.connect(database) as blocker:
        await store(service.client, "green tea")
        assert await texts(service.client, "tea") == ["green tea"]
        await store(service.client, "black tea")
        # What came after the resident state cannot be read. One by one, the crowd would take twice the patience.
        await blocker.execute("LOCK TABLE memex.tombstones IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(PATIENCE):
            crowd = [ask(service.client, f"tea {n}") for n in range(2 * int(PATIENCE))]
            answers = await asyncio.gather(*crowd)
        assert {answer.status_code for answer in answers} == {503}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers)
        await blocker.rollback()
        assert sorted(await texts(service.client, "tea")) == ["black tea", "green tea"]


async def test_a_fault_of_ours_is_500_and_tells_nothing(rest: httpx.AsyncClient, database: str):
    await store(rest, "green tea")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("ALTER TABLE memex.memories RENAME TO elsewhere")
        for request in (ask(rest, "tea"), rest.get("/v1/memories/count", params=ANA)):
            answer = await request
            assert (answer.status_code, answer.json()["code"]) == (500, "store_fault")
            assert not [word for word in (*INNER, "elsewhere") if word in answer.text], answer.text
            assert answer.json()["request_id"] == answer.headers["x-request-id"]
        await connection.execute("ALTER TABLE memex.elsewhere RENAME TO memories")
    assert await texts(rest, "tea") == ["green tea"]


async def test_more_than_can_be_in_work_is_refused_at_once(run: Run):
    async with run(server=Server(max_in_flight=3)) as service:
        await store(service.client, "green tea")
        service.encoder.forget()
        service.encoder.hold()
        waiting = [asyncio.create_task(ask(service.client, f"question {n}")) for n in range(3)]
        await asyncio.to_thread(service.encoder.wait)
        refused = await ask(service.client, "one too many")
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
        assert (await service.client.get("/health")).status_code == 200
        service.encoder.release()
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}
        assert (await ask(service.client, "again")).status_code == 200


async def test_a_model_that_fails_is_503_not_an_empty_list_and_keywords_still_work(run: Run):
    async with run() as service:
        await store(service.client, "green tea")
        service.encoder.failure = RuntimeError("/opt/model: out of memory")
        for answer in (
            await ask(service.client, "tea"),
            await service.client.post("/v1/memories", json=ANA | {"content": "x"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (503, "encoder_failed")
            assert "results" not in answer.json()
            assert "/opt/model" not in answer.text
        assert await texts(service.client, "tea", mode="keyword") == ["green tea"]
        service.encoder.failure = None
        assert await texts(service.client, "tea") == ["green tea"]
