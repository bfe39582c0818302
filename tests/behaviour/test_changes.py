"""Memories that change: what is found, counted and shown after a PATCH, an archive, a restore, by any process."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from memex.model import Mode
from tests.behaviour.asking import ANA, delete, locations, search, store, texts
from tests.behaviour.changing import OWN, changed, history, move, patch, read
from tests.fakes import DIMENSIONS, embedding
from tests.fixtures.app import Run, Running


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
    for mode in Mode:
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


async def test_changes_of_different_fields_through_two_services_all_survive(run: Run):
    fields: list[dict[str, Any]] = [
        {"content": "black coffee"}, {"importance": 0.25}, {"tags": ["x"]}, {"metadata": {"a": 1}},
        {"expires_at": "2999-01-01"}, {"visibility": "shared"},
    ]  # fmt: skip
    async with run() as first, run() as second:
        memory = await store(first.client, "green tea")
        clients = (first.client, second.client)
        await asyncio.gather(*[changed(clients[n % 2], memory, **field) for n, field in enumerate(fields)])
        found = await read(first.client, memory)
        assert (found["content"], found["importance"], found["tags"]) == ("black coffee", 0.25, ["x"])
        assert (found["metadata"], found["visibility"], found["version"]) == ({"a": 1}, "shared", 7)
        assert [version["version"] for version in await history(second.client, memory)] == [7, 6, 5, 4, 3, 2, 1]


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


async def test_every_change_is_seen_by_the_next_search_of_another_process(run: Run):
    async with run() as first, run() as second:
        memory = await store(first.client, "green tea", importance=1.0)
        for number in range(10):
            writer, reader = (first, second) if number % 2 else (second, first)
            await changed(writer.client, memory, content=f"tea number {number}", importance=number / 10)
            for mode in Mode:
                (hit,) = await search(reader.client, "tea", mode=mode)
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
