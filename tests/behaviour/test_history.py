"""What a memory was, and where it is no longer found: archived, expired, private again, deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg

from memex.model import Mode
from tests.behaviour.asking import ANA, count, delete, locations, store, texts
from tests.behaviour.changing import OWN, changed, history, move, patch, read
from tests.fixtures.app import Run


async def test_the_history_shows_each_version_as_it_was(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", tags=["a"])
    steps: list[dict[str, Any]] = [{"content": "black tea"}, {"tags": []}, {"visibility": "shared"}]
    versions = [memory] + [await changed(rest, memory, **step) for step in steps]
    versions += [await move(rest, memory, verb) for verb in ("archive", "restore")]
    assert await history(rest, memory) == versions[::-1]
    path = f"/v1/memories/{memory['id']}/history"
    for params, expected in (({"limit": 2}, [6, 5]), ({"limit": 2, "before": 5}, [4, 3]), ({"before": 1}, [])):
        body = (await rest.get(path, params={**OWN, **params})).json()
        assert ([version["version"] for version in body["versions"]], body["total"]) == (expected, 6)
    for name, value in (("limit", 0), ("limit", 1001), ("before", 0), ("before", 2**31), ("limit", "x"), ("page", 1)):
        assert locations(await rest.get(path, params=OWN | {name: value})) == [["query", name]]


async def test_what_is_archived_is_out_of_search_and_count_until_it_is_restored(run: Run):
    async with run() as first, run() as second:
        memory = await store(first.client, "green tea")
        await store(first.client, "black tea")
        assert await texts(second.client, "green tea") == ["green tea", "black tea"]
        archived = await move(first.client, memory, "archive")
        assert (archived["state"], archived["version"]) == ("archived", 2)
        for client in (second.client, first.client):
            for mode in Mode:
                assert await texts(client, "green tea", mode=mode) == ["black tea"]
            assert await count(client) == 1
            assert (await read(client, memory))["state"] == "archived"
        await changed(second.client, memory, content="white tea")
        assert await texts(first.client, "white tea") == ["black tea"]
        restored = await move(second.client, memory, "restore")
        assert (restored["state"], restored["version"], restored["content"]) == ("active", 4, "white tea")
        for client in (first.client, second.client):
            for mode in Mode:
                assert await texts(client, "white tea", mode=mode, alpha=1) == ["white tea", "black tea"]
            assert await count(client) == 2


async def test_what_has_expired_is_nowhere_and_cannot_be_changed(rest: httpx.AsyncClient, database: str):
    memory = await store(rest, "green tea")
    await changed(rest, memory, importance=0.5)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE memex.memories SET expires_at = %s", [datetime.now(UTC) - timedelta(seconds=1)])
    path = f"/v1/memories/{memory['id']}"
    for answer in (
        await rest.get(path, params=OWN),
        await rest.get(f"{path}/history", params=OWN),
        await patch(rest, memory, expires_at=None),
        await rest.post(f"{path}/archive", params=OWN),
        await rest.post(f"{path}/restore", params=OWN),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    for mode in Mode:
        assert await texts(rest, "green tea", mode=mode, include_archived=True) == []
    assert await count(rest) == 0


async def test_a_shared_memory_is_read_by_others_and_only_while_it_is_shared(rest: httpx.AsyncClient):
    first = await store(rest, "green tea")
    memory = await store(rest, "green tea")
    path, other = f"/v1/memories/{memory['id']}", ANA | {"agent_id": "other"}

    async def seen() -> list[int]:
        answers = [await rest.get(p, params=other) for p in (path, f"{path}/history")]
        return [answer.status_code for answer in answers]

    assert await seen() == [404, 404]
    await changed(rest, memory, visibility="shared")
    await changed(rest, memory, content="green tea with milk")
    assert await seen() == [200, 200]
    body = (await rest.get(f"{path}/history", params=other)).json()
    # The private version, and what it says of a private memory, stay private.
    assert ([version["version"] for version in body["versions"]], body["total"]) == ([3, 2], 2)
    assert {version["duplicate_of"] for version in body["versions"]} == {None}
    assert [version["duplicate_of"] for version in await history(rest, memory)] == [None, first["id"], first["id"]]
    for who in ({"agent_id": "other", "user_id": "ben"}, {"agent_id": "other"}):
        assert (await rest.get(path, params=who)).status_code == 404
    await changed(rest, memory, visibility="private")
    assert await seen() == [404, 404]


async def test_nothing_of_a_deleted_memory_is_left_in_any_table(rest: httpx.AsyncClient, database: str):
    kept = await store(rest, "black coffee", metadata={"k": "keep"})
    memory = await store(
        rest, "secret-one green tea", tags=["secret-tag"], metadata={"k": "secret-value"}, external_id="secret-id",
        session_id="secret-session", source="secret-source",
    )  # fmt: skip
    await changed(rest, memory, content="secret-two", tags=["secret-other"], metadata={"secret-key": 1})
    await move(rest, memory, "archive")
    await changed(rest, memory, content="black coffee")
    assert held(database, "secret") != []
    await delete(rest, memory)
    assert held(database, "secret") == []
    assert held(database, memory["id"]) == ["tombstones"]
    assert [row["content"] for row in await history(rest, kept)] == ["black coffee"]


def held(database: str, text: str) -> list[str]:
    """The tables that hold a text anywhere in a row."""
    with psycopg.connect(database) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'memex'::regnamespace AND relkind = 'r'"
        ).fetchall()
        return [
            str(name)
            for (name,) in names
            if connection.execute(
                f"SELECT FROM memex.{name} AS r WHERE strpos(r::text, %s) > 0".encode(), [text]
            ).rowcount
        ]
