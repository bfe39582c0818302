"""Memories that change: what is found, counted and shown after a PATCH, an archive, a restore, by any process."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from tests.behaviour.asking import ANA, count, delete, locations, search, store, texts
from tests.fakes import DIMENSIONS, embedding
from tests.fixtures.app import Run, Running

OWN = {"agent_id": "assistant"}


async def patch(rest: httpx.AsyncClient, memory: dict[str, Any], *, match: str = "", **fields: Any) -> httpx.Response:
    """A change, however it is answered."""
    headers = {"If-Match": match} if match else {}
    return await rest.patch(f"/v1/memories/{memory['id']}", params=OWN, json=fields, headers=headers)


async def changed(rest: httpx.AsyncClient, memory: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A memory changed for sure."""
    answer = await patch(rest, memory, **fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{found["version"]}"'
    return found


async def move(rest: httpx.AsyncClient, memory: dict[str, Any], verb: str) -> dict[str, Any]:
    """A memory archived or restored for sure."""
    answer = await rest.post(f"/v1/memories/{memory['id']}/{verb}", params=OWN)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{found["version"]}"'
    return found


async def read(rest: httpx.AsyncClient, memory: dict[str, Any], **params: Any) -> dict[str, Any]:
    """A memory read for sure."""
    answer = await rest.get(f"/v1/memories/{memory['id']}", params=OWN | params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def history(rest: httpx.AsyncClient, memory: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    """All versions, newest first."""
    answer = await rest.get(f"/v1/memories/{memory['id']}/history", params=OWN | params)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["memory_id"], body["total"]) == (memory["id"], len(body["versions"]))
    found: list[dict[str, Any]] = body["versions"]
    return found


async def test_what_is_named_changes_and_nothing_else(rest: httpx.AsyncClient):
    memory = await store(
        rest, "green tea", importance=0.5, memory_type="semantic", tags=["a", "b"], metadata={"x": 1, "y": [2]},
        session_id="s", source="chat", external_id="e", created_at="2020-01-01", expires_at="2999-01-01",
    )  # fmt: skip
    steps: list[dict[str, Any]] = [
        {"content": "black coffee"},
        {"importance": 1.75},
        {"tags": ["c", "c", "b"]},
        {"metadata": {"z": None}},
        {"expires_at": None},
        {"expires_at": "2998-01-01T01:00:00+01:00"},
        {"visibility": "shared"},
        {"tags": [], "metadata": {}, "content": "Ana 喝茶 ☕"},
    ]
    shown: dict[int, dict[str, Any]] = {
        2: {"tags": ["c", "b"]}, 5: {"expires_at": "2998-01-01T00:00:00.000000Z"},
    }  # fmt: skip
    expected = memory
    for number, step in enumerate(steps):
        found = await changed(rest, expected, **step)
        told = step | shown.get(number, {})
        assert found == expected | told | {"version": number + 2, "updated_at": found["updated_at"]}
        assert found["updated_at"] > expected["updated_at"]
        assert await read(rest, memory) == found
        expected = found


async def test_the_former_text_is_no_longer_found_and_the_new_one_is(rest: httpx.AsyncClient):
    memory = await store(rest, "I drive a red car")
    await store(rest, "I keep bees as well")
    await changed(rest, memory, content="I keep bees")
    for mode in ("hybrid", "semantic", "keyword"):
        car = {hit["content"]: hit["explain"] for hit in await search(rest, "red car", mode=mode, explain=True)}
        assert car["I keep bees"]["lexical"] == 0.0
        assert car["I keep bees"]["relevance"] <= car["I keep bees as well"]["relevance"] + 1e-3
        assert (await texts(rest, "I keep bees", mode=mode, alpha=1.0))[0] == "I keep bees"


async def test_a_change_costs_one_embedding_and_only_of_a_new_text(service: Running):
    rest = service.client
    memory = await store(rest, "green tea")
    service.encoder.forget()
    await changed(rest, memory, importance=2.0, tags=["x"])
    await move(rest, memory, "archive")
    await move(rest, memory, "restore")
    assert service.encoder.texts == []
    await changed(rest, memory, content="black coffee")
    assert service.encoder.texts == ["black coffee"]
    read = service.metrics.registry.get_sample_value
    done = {op: read("memex_memory_operations_total", {"operation": op}) for op in ("update", "archive", "restore")}
    assert done == {"update": 2, "archive": 1, "restore": 1}


async def test_of_two_who_change_the_same_version_one_does(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    answers = await asyncio.gather(*[patch(rest, memory, match='"1"', importance=n / 20) for n in range(20)])
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 19
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert won["version"] == 2
    assert await read(rest, memory) == won
    assert len(await history(rest, memory)) == 2
    refused = next(answer for answer in answers if answer.status_code == 412)
    assert refused.json()["code"] == "version_conflict"


async def test_changes_of_different_fields_all_survive(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    fields: list[dict[str, Any]] = [
        {"content": "black coffee"}, {"importance": 0.25}, {"tags": ["x"]}, {"metadata": {"a": 1}},
        {"expires_at": "2999-01-01"}, {"visibility": "shared"},
    ]  # fmt: skip
    await asyncio.gather(*[changed(rest, memory, **field) for field in fields])
    found = await read(rest, memory)
    assert (found["content"], found["importance"], found["tags"]) == ("black coffee", 0.25, ["x"])
    assert (found["metadata"], found["visibility"], found["version"]) == ({"a": 1}, "shared", 7)
    assert [version["version"] for version in await history(rest, memory)] == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ('"3"', 200), ("*", 200), ('"1", "3"', 200), (' , "9" ,"3",', 200), ('"1","2"', 412), ('"4"', 412),
        ('W/"3"', 412), ('W/"3", "3"', 200), ('"03"', 412), ('"3.0"', 412), ('"abc"', 412), ('""', 412),
        ('"99999999999999999999"', 412), ('"0"', 412), ("3", 422), ('"3', 422), ("'3'", 422), ("*, *", 422),
        ('"3" "4"', 422), ("W/3", 422), ('w/"3"', 422), (",", 422), ('"3", *', 422),
    ],
)  # fmt: skip
async def test_a_condition_is_read_as_http_says(rest: httpx.AsyncClient, match: str, status: int):
    memory = await store(rest, "green tea")
    for importance in (0.1, 0.2):
        await changed(rest, memory, importance=importance)
    for answer in (
        await patch(rest, memory, match=match, importance=0.2),
        await rest.post(f"/v1/memories/{memory['id']}/restore", params=OWN, headers={"If-Match": match}),
    ):
        assert answer.status_code == status, answer.text
        if status == 422:
            assert locations(answer) == [["header", "if-match"]]


async def test_a_reader_who_has_the_version_gets_no_body(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    await changed(rest, memory, importance=0.1)
    path = f"/v1/memories/{memory['id']}"
    for held, status in (
        ('"2"', 304),
        ('W/"2"', 304),
        ('"1", "2"', 304),
        ("*", 304),
        ('"1"', 200),
        ('"x"', 200),
        ("2", 422),
    ):
        answer = await rest.get(path, params=OWN, headers={"If-None-Match": held})
        assert answer.status_code == status
        if status != 422:
            assert answer.headers["etag"] == '"2"'
        assert (answer.content == b"") is (status == 304)


async def test_a_change_that_changes_nothing_is_no_version(rest: httpx.AsyncClient):
    fields: dict[str, Any] = {
        "importance": 0.5,
        "tags": ["a"],
        "metadata": {"x": [1, {"y": None}]},
        "expires_at": "2999-01-01",
    }
    memory = await store(rest, "green tea", **fields)
    same: list[dict[str, Any]] = [{"content": "green tea"}, *({name: value} for name, value in fields.items()), fields]
    for field in same:
        assert await changed(rest, memory, **field) == memory
    assert await move(rest, memory, "restore") == memory
    archived = await move(rest, memory, "archive")
    assert await move(rest, memory, "archive") == archived
    assert await history(rest, memory) == [archived, memory]


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
            assert await texts(client, "green tea") == ["black tea"]
            assert await count(client) == 1
            assert (await read(client, memory))["state"] == "archived"
        await changed(second.client, memory, content="white tea")
        assert await texts(first.client, "white tea") == ["black tea"]
        restored = await move(second.client, memory, "restore")
        assert (restored["state"], restored["version"], restored["content"]) == ("active", 4, "white tea")
        for client in (first.client, second.client):
            assert set(await texts(client, "white tea")) == {"white tea", "black tea"}
            assert await count(client) == 2


async def test_every_change_is_seen_by_the_next_search_of_another_process(run: Run):
    async with run() as first, run() as second:
        memory = await store(first.client, "green tea", importance=1.0)
        for number in range(10):
            writer, reader = (first, second) if number % 2 else (second, first)
            await changed(writer.client, memory, content=f"tea number {number}", importance=number / 10)
            (hit,) = await search(reader.client, "tea")
            assert (hit["content"], hit["importance"], hit["version"]) == (
                f"tea number {number}",
                number / 10,
                number + 2,
            )
            shown = {name: value for name, value in hit.items() if name != "duplicates"}
            assert await read(reader.client, memory) == shown | {"score": None}


async def test_copies_keep_pointing_to_the_first_live_one(rest: httpx.AsyncClient):
    first, second, third = [await store(rest, "green tea") for _ in range(3)]

    async def pointers() -> list[dict[str, Any]]:
        return [await read(rest, memory) for memory in (first, second, third)]

    assert [m["duplicate_of"] for m in await pointers()] == [None, first["id"], first["id"]]
    await move(rest, first, "archive")
    assert [m["duplicate_of"] for m in await pointers()] == [None, None, second["id"]]
    await move(rest, first, "restore")
    assert [m["duplicate_of"] for m in await pointers()] == [None, first["id"], first["id"]]
    await changed(rest, first, content="black coffee")
    assert [m["duplicate_of"] for m in await pointers()] == [None, None, second["id"]]
    await changed(rest, third, content="black coffee")
    assert [m["duplicate_of"] for m in await pointers()] == [None, None, first["id"]]
    await changed(rest, second, content="black coffee")
    assert [m["duplicate_of"] for m in await pointers()] == [None, first["id"], first["id"]]
    assert [m["version"] for m in await pointers()] == [4, 2, 2]
    (hit,) = await search(rest, "coffee")
    assert hit["duplicates"] == 2
    await delete(rest, first)
    assert [version["duplicate_of"] for version in await history(rest, third)] == [second["id"], second["id"]]
    await delete(rest, second)
    assert [version["duplicate_of"] for version in await history(rest, third)] == [None, None]


async def test_an_expiry_is_kept_ended_and_moved(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", ttl_seconds=3600)
    assert (await changed(rest, memory, content="black tea"))["expires_at"] == memory["expires_at"]
    moved = await changed(rest, memory, ttl_seconds=60)
    left = datetime.fromisoformat(moved["expires_at"]) - datetime.fromisoformat(moved["updated_at"])
    assert left == timedelta(seconds=60)
    assert (await changed(rest, memory, ttl_seconds=None))["expires_at"] is None


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
    assert await count(rest) == 0


async def test_nobody_changes_what_is_not_theirs(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", visibility="shared")
    path = f"/v1/memories/{memory['id']}"
    strangers = ({"agent_id": "other"}, {"agent_id": "other", "user_id": "ana"}, OWN | {"user_id": "ben"})
    for who in strangers:
        for answer in (
            await rest.patch(path, params=who, json={"importance": 2.0}),
            await rest.patch(path, params=who, json={"content": "mine"}, headers={"If-Match": '"9"'}),
            await rest.post(f"{path}/archive", params=who),
            await rest.post(f"{path}/restore", params=who),
            await rest.delete(path, params=who),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert await history(rest, memory) == [memory]


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


async def test_a_text_is_stored_once_where_that_is_asked(rest: httpx.AsyncClient):
    first = await store(rest, "Ana’s café")
    answer = await rest.post("/v1/memories", json=ANA | {"content": "Ana’s cafe\u0301", "on_duplicate": "return"})
    assert (answer.status_code, answer.json(), answer.headers["etag"]) == (200, first, '"1"')
    for other in ({"user_id": "ben"}, {"agent_id": "other"}, {"content": "Ana’s CAFÉ"}):
        await store(rest, **{"content": "Ana’s café"} | other, on_duplicate="return")
    await move(rest, first, "archive")
    again = await store(rest, "Ana’s café", on_duplicate="return")
    await delete(rest, again)
    await store(rest, "Ana’s café", on_duplicate="return")


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_text_sent_many_times_at_once_is_one_memory(run: Run, processes: int):
    async with run() as first, run() as second:
        clients = [first.client, second.client][:processes]
        body = ANA | {"content": "green tea", "on_duplicate": "return"}
        answers = await asyncio.gather(*[clients[n % processes].post("/v1/memories", json=body) for n in range(50)])
        assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert await count(first.client) == 1


async def test_a_vector_of_the_callers_own_is_what_is_searched(service: Running):
    rest = service.client
    vector = [float(number) * 1e200 for number in embedding("green tea")]
    memory = await store(rest, "¤¤¤ " * 2000, embedding=vector)
    await store(rest, "black coffee")
    service.encoder.forget()
    (hit, _) = await search(rest, "green tea", mode="semantic", alpha=1.0, explain=True)
    assert (hit["id"], hit["explain"]["cosine"]) == (memory["id"], pytest.approx(1.0, abs=1e-3))
    other = [float(number) for number in embedding("red wine")]
    found = await changed(rest, memory, content="¤¤¤", embedding=other)
    assert (await search(rest, "red wine", mode="semantic", alpha=1.0))[0]["id"] == memory["id"]
    assert (await changed(rest, memory, content="¤¤¤", embedding=other))["version"] == found["version"]
    assert (await changed(rest, memory, content="¤¤¤", embedding=vector))["version"] == found["version"] + 1
    assert "¤¤¤" not in " ".join(service.encoder.texts)


@pytest.mark.parametrize(
    "wrong", [[1.0], [1.0] * (DIMENSIONS - 1), [1.0] * (DIMENSIONS + 1), [0.0] * DIMENSIONS, [-0.0] * DIMENSIONS]
)
async def test_a_vector_that_cannot_be_one_is_refused_by_name(service: Running, wrong: list[float]):
    memory = await store(service.client, "green tea")
    service.encoder.forget()
    body = ANA | {"content": "black coffee", "embedding": wrong}
    assert locations(await service.client.post("/v1/memories", json=body)) == [["body", "embedding"]]
    answer = await patch(service.client, memory, content="black coffee", embedding=wrong)
    assert locations(answer) == [["body", "embedding"]]
    assert service.encoder.texts == []
    assert await history(service.client, memory) == [memory]
