"""The same thing said again: by a retry, by another caller, or just in the same words."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode
from memex.settings import Embedding
from tests.behaviour.asking import ANA, count, delete, search, store, texts
from tests.behaviour.changing import changed, history, move, read
from tests.behaviour.test_batches import batch, new
from tests.fixtures.app import Run, Running

BEN = ANA | {"user_id": "ben"}


async def test_a_retried_write_with_an_external_id_is_one_memory_also_at_once(rest: httpx.AsyncClient):
    body = ANA | {"content": "green tea", "external_id": "order-7"}
    answers = await asyncio.gather(*[rest.post("/v1/memories", json=body) for _ in range(30)])
    assert sorted(answer.status_code for answer in answers) == [200] * 29 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert await count(rest) == 1


async def test_an_external_id_is_the_agents_and_the_users_own(rest: httpx.AsyncClient):
    for who in (ANA, BEN, ANA | {"agent_id": "other"}):
        await store(rest, "green tea", external_id="1", **who)
    (memory,) = await search(rest, "tea")
    await delete(rest, memory)
    await store(rest, "black coffee", external_id="1")
    assert await texts(rest, "tea", top_k=50) == ["black coffee"]


async def test_equal_texts_are_one_hit_and_name_the_first(rest: httpx.AsyncClient):
    first = await store(rest, "green tea")
    second = await store(rest, "green tea")
    assert (first["duplicate_of"], second["duplicate_of"]) == (None, first["id"])
    for mode in Mode:
        (hit,) = await search(rest, "tea", mode=mode)
        assert hit["duplicates"] == 1
    await delete(rest, first)
    for mode in Mode:
        (hit,) = await search(rest, "tea", mode=mode)
        assert (hit["id"], hit["duplicates"], hit["duplicate_of"]) == (second["id"], 0, None)


async def test_copies_stored_at_once_name_the_first(rest: httpx.AsyncClient):
    stored = await asyncio.gather(*[store(rest, "green tea") for _ in range(20)])
    (first,) = [memory["id"] for memory in stored if memory["duplicate_of"] is None]
    assert sorted(filter(None, (memory["duplicate_of"] for memory in stored))) == [first] * 19
    for mode in Mode:
        (hit,) = await search(rest, "tea", mode=mode)
        assert hit["duplicates"] == 19


async def repeated(rest: httpx.AsyncClient, memory: dict[str, Any]) -> set[str | None]:
    """What a memory is a copy of, by all that shows it."""
    past = await search(rest, memory["content"], collapse=False, as_of=memory["updated_at"])
    found = [
        await read(rest, memory),
        (await history(rest, memory))[0],
        *(await rest.get("/v1/memories", params=ANA)).json()["memories"],
        *await search(rest, memory["content"], collapse=False),
        *past,
    ]
    shown = [one["duplicate_of"] for one in found if one.get("id", memory["id"]) == memory["id"]]
    assert len(shown) == 5
    return set(shown)


async def expired(rest: httpx.AsyncClient, database: str) -> list[dict[str, Any]]:
    """Three memories of one text, the first of which has expired."""
    memories = [await store(rest, "green tea", external_id=str(number)) for number in range(3)]
    assert [memory["duplicate_of"] for memory in memories] == [None, memories[0]["id"], memories[0]["id"]]
    with psycopg.connect(database) as connection:
        past = "UPDATE memex.memories SET expires_at = now() - interval '1 hour' WHERE id = %s"
        connection.execute(past, [memories[0]["id"]])
    return memories


async def test_a_copy_of_what_has_expired_names_the_first_that_lives(rest: httpx.AsyncClient, database: str):
    _, second, third = await expired(rest, database)
    assert await repeated(rest, second) == {None}
    assert await repeated(rest, third) == {second["id"]}
    assert (await store(rest, "green tea"))["duplicate_of"] == second["id"]


async def test_so_does_a_copy_that_is_changed_or_stored_again(rest: httpx.AsyncClient, database: str):
    _, second, third = await expired(rest, database)
    for again, memory, original in (
        ({"on_duplicate": "return"}, second, None),
        ({"external_id": "1"}, second, None),
        ({"external_id": "2"}, third, second["id"]),
    ):
        answer = await rest.post("/v1/memories", json=ANA | {"content": "green tea"} | again)
        assert (answer.status_code, answer.json()["id"]) == (200, memory["id"])
        assert answer.json()["duplicate_of"] == original
    assert (await changed(rest, second, importance=0.5))["duplicate_of"] is None
    assert (await changed(rest, third, importance=0.5))["duplicate_of"] == second["id"]
    assert [version["duplicate_of"] for version in await history(rest, third)] == [second["id"], None]


async def test_a_memory_says_when_it_was_recorded_and_in_which_version_it_is(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", created_at="2020-01-01")
    assert memory["version"] == 1
    assert memory["updated_at"] == memory["recorded_at"] > memory["created_at"]
    age = datetime.now(UTC) - datetime.fromisoformat(memory["recorded_at"])
    assert abs(age) < timedelta(minutes=1)


@pytest.mark.parametrize("content", ["green tea", "steeped leaves " * 500])
async def test_a_text_that_is_stored_need_not_be_embedded_again_after_a_restart(run: Run, database: str, content: str):
    async with run() as first:
        await store(first.client, content)
    async with run(embedding=Embedding(reuse_stored=True)) as second:
        await store(second.client, content)
        assert second.encoder.texts == []
        # Neither another text, nor another agent, nor another user's memories; the cache knows the last of them.
        await store(second.client, content + "!")
        await store(second.client, content, agent_id="other")
        await store(second.client, content, user_id="ben")
        assert second.encoder.texts
        assert second.metrics.registry.get_sample_value("memex_embedding_cache_total", {"outcome": "stored"}) == 1
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT m.content, v.chunk, count(DISTINCT v.embedding), count(*)"
            " FROM memex.memories AS m JOIN memex.memory_vectors AS v ON v.memory_id = m.id GROUP BY 1, 2"
        ).fetchall()
    assert {(distinct, stored) for text, _, distinct, stored in rows if text == content} == {(1, 4)}


async def test_vectors_of_another_model_are_not_reused(run: Run, database: str):
    async with run() as first:
        await store(first.client, "green tea")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.memory_vectors SET model_id = 'another'")
    async with run(embedding=Embedding(reuse_stored=True)) as second:
        await store(second.client, "green tea")
        assert second.encoder.texts == ["green tea"]


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


async def test_a_question_asked_again_and_again_is_answered_from_what_was_found_and_follows_every_change(
    service: Running,
):
    rest = service.client
    await batch(rest, [new(f"day{number} in the garden") for number in range(1_000)])
    first = await store(rest, "Ana grows swans")

    async def asked_four_times() -> list[str]:
        before = repeats(service)
        answers = [await search(rest, "swans day7", explain=True) for _ in range(4)]
        assert repeats(service) >= before + 2
        assert [[hit["id"] for hit in hits] for hits in answers] == [[hit["id"] for hit in answers[0]]] * 4
        scores = [hits[0]["score"] for hits in answers]
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx([scores[0]] * 4, abs=1e-4)
        return [hit["content"] for hit in answers[-1]]

    assert {"Ana grows swans", "day7 in the garden"} < set(await asked_four_times())
    await changed(rest, first, content="Ana grows roses")
    assert "Ana grows swans" not in await asked_four_times()
    second = await store(rest, "swans day7")
    assert (await asked_four_times())[0] == "swans day7"
    await delete(rest, second)
    assert "swans day7" not in await asked_four_times()


def repeats(service: Running) -> float:
    return service.metrics.registry.get_sample_value("memex_index_events_total", {"event": "repeat"}) or 0.0
