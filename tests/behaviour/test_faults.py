"""Kinds of fault that users of such services have met, each kept out for good."""

import asyncio
import json
import math
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode
from memex.settings import App, Ranking
from tests.behaviour.asking import ANA, ask, count, delete, search, store, store_all, texts
from tests.fixtures.app import Run, Running

BEN = ANA | {"user_id": "ben"}


def locations(answer: httpx.Response) -> list[list[Any]]:
    assert answer.status_code == 422, answer.text
    return [problem["loc"] for problem in answer.json()["detail"]]


# What a caller may do to others.


async def test_a_users_memories_go_without_those_of_another(rest: httpx.AsyncClient):
    for who in (ANA, BEN):
        await store_all(rest, [f"tea {n}" for n in range(3)], **who)
    for memory in await search(rest, "tea", **BEN):
        answer = await rest.delete(f"/v1/memories/{memory['id']}", params=ANA)
        assert answer.status_code == 404
    for memory in await search(rest, "tea", **ANA):
        await delete(rest, memory)
    assert (await count(rest, **ANA), await count(rest, **BEN)) == (0, 3)
    assert len(await search(rest, "tea", **BEN)) == 3


async def test_user_and_agent_filter_together(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", agent_id="helper", user_id="ana")
    assert [hit["id"] for hit in await search(rest, "tea", agent_id="helper", user_id="ana")] == [memory["id"]]
    assert await search(rest, "tea", agent_id="other", user_id="ana") == []
    assert await search(rest, "tea", agent_id="helper", user_id="ben") == []


STRUCTURED: tuple[Any, ...] = ({"$ne": ""}, ["ana"], {"like": "%"}, None, True, 5)
LITERAL = ("ana' OR '1'='1", '") or true or ("', "%", "*", "ana\\", "a%", "ANA", "ana ")


async def test_an_id_is_a_plain_text_and_nothing_in_it_is_read_as_more(rest: httpx.AsyncClient):
    await store(rest, "green tea")
    for user in STRUCTURED:
        assert locations(await ask(rest, "tea", user_id=user)) == [["body", "user_id"]]
    for name in LITERAL:
        assert await search(rest, "tea", user_id=name) == []
        assert await count(rest, user_id=name) == 0


@pytest.mark.parametrize("blank", ["", "  ", "\t", "\n"])
async def test_a_blank_id_is_refused_everywhere(rest: httpx.AsyncClient, blank: str):
    memory = await store(rest, "green tea")
    path = f"/v1/memories/{memory['id']}"
    for field in ("user_id", "agent_id"):
        who = ANA | {field: blank}
        assert locations(await ask(rest, "tea", **who)) == [["body", field]]
        assert locations(await rest.post("/v1/memories", json={"content": "x"} | who)) == [["body", field]]
        assert locations(await rest.get("/v1/memories/count", params=who)) == [["query", field]]
        assert locations(await rest.delete(path, params=who)) == [["query", field]]
    assert await count(rest) == 1


@pytest.mark.parametrize("name", ["namespace", "user", "dataset", "filter", "topk", "tags"])
async def test_a_misspelt_filter_never_widens_a_search(rest: httpx.AsyncClient, name: str):
    assert locations(await ask(rest, "tea", **{name: "x"})) == [["body", name]]
    assert locations(await ask(rest, "tea", filters={name: ["x"]})) == [["body", "filters", name]]


async def test_a_zero_byte_is_told_with_its_field(rest: httpx.AsyncClient):
    assert locations(await ask(rest, "a\0b")) == [["body", "query"]]
    assert locations(await rest.get("/v1/memories/count", params=ANA | {"user_id": "a\0b"})) == [["query", "user_id"]]
    for field, value in (("external_id", "a\0"), ("tags", ["a\0"]), ("metadata", {"k": "a\0"}), ("source", "\0")):
        answer = await rest.post("/v1/memories", json=ANA | {"content": "x", field: value})
        assert locations(answer)[0][:2] == ["body", field]
    assert await count(rest) == 0


# Repeats.


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
    (hit,) = await search(rest, "tea")
    assert hit["duplicates"] == 1
    await delete(rest, first)
    (hit,) = await search(rest, "tea")
    assert (hit["id"], hit["duplicates"], hit["duplicate_of"]) == (second["id"], 0, None)


async def test_a_memory_says_when_it_was_recorded_and_in_which_version_it_is(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", created_at="2020-01-01")
    assert memory["version"] == 1
    assert memory["updated_at"] == memory["recorded_at"] > memory["created_at"]
    age = datetime.now(UTC) - datetime.fromisoformat(memory["recorded_at"])
    assert abs(age) < timedelta(minutes=1)


# Times.

MOMENTS = {
    "2024-05-01": "2024-05-01T00:00:00.000000Z",
    "2024-05-01T10:00": "2024-05-01T10:00:00.000000Z",
    "2024-05-01T10:00:00+05:30": "2024-05-01T04:30:00.000000Z",
    "2024-05-01T10:00:00-08:00": "2024-05-01T18:00:00.000000Z",
    "2024-05-01T10:00:00.123456789Z": None,
    "1714557600": "2024-05-01T10:00:00.000000Z",
    "1900-01-01": "1900-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59Z": "9999-12-31T23:59:59.000000Z",
    "9999-12-31T23:59:59-01:00": None,
    "0001-01-01T00:00:00+01:00": None,
    "": None,
    "tomorrow": None,
    "2024-02-30": None,
}


async def test_a_time_is_stored_as_the_instant_it_means_or_refused(rest: httpx.AsyncClient):
    for given, stored in MOMENTS.items():
        answer = await rest.post("/v1/memories", json=ANA | {"content": "tea", "created_at": given})
        if answer.status_code == 201:
            assert stored is None or answer.json()["created_at"] == stored, given
        else:
            assert stored is None, given
            assert locations(answer) == [["body", "created_at"]]
    hits = await search(rest, "tea", collapse=False)
    assert len(hits) == await count(rest)
    assert all(0 <= hit["score"] <= 1 for hit in hits)


async def test_a_window_is_of_instants_however_they_are_written(rest: httpx.AsyncClient):
    for day in range(1, 8):
        await store(rest, f"tea {day}", created_at=f"2024-05-0{day}T23:30:00Z")
    forms = [
        ("2024-05-03T23:30:00Z", "2024-05-05T23:30:00Z"),
        ("2024-05-03T15:30:00-08:00", "2024-05-05T15:30:00-08:00"),
        ("2024-05-04T08:30:00+09:00", "2024-05-06T08:30:00+09:00"),
    ]
    for after, before in forms:
        found = await texts(rest, "tea", filters={"created_after": after, "created_before": before})
        assert sorted(found) == ["tea 3", "tea 4"]


@pytest.mark.parametrize("skew", [-86_400, 86_400])
async def test_ages_and_expiries_are_by_the_databases_clock_from_the_first_search_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, skew: int
):
    async with run() as writer:
        await store(writer.client, "green tea")
        await store(writer.client, "tea for an hour", ttl_seconds=3_600)
    machine = Skewed(skew)
    monkeypatch.setattr("memex.service.clock.time", machine)
    async with run() as service:
        for _ in range(2):
            hits = await search(service.client, "tea", half_life_days=1, explain=True)
            assert len(hits) == 2
            assert all(0.999 < hit["explain"]["recency"] <= 1 for hit in hits)
    assert machine.asked


class Skewed:
    """A machine whose clock is wrong by `skew` seconds."""

    def __init__(self, skew: int) -> None:
        self.skew = skew
        self.asked = 0

    def time_ns(self) -> int:
        self.asked += 1
        return int((datetime.now(UTC).timestamp() + self.skew) * 1e9)


# Numbers.


@pytest.mark.parametrize(
    "k", [-1, 0, 51, 2.5, 10**9, 2**63, 2**64, pytest.param(10**400, id="huge"), "abc", "", [], {}, math.inf, math.nan]
)
async def test_a_number_out_of_range_is_told_and_reaches_nobody(rest: httpx.AsyncClient, k: Any):
    body = json.dumps(ANA | {"query": "tea", "top_k": k}).encode()
    answer = await rest.post("/v1/memories/search", content=body)
    assert locations(answer) == [["body", "top_k"]]
    json.loads(answer.text, parse_constant=pytest.fail)


async def test_spaces_of_no_one_and_two_memories_are_searched_in_every_mode(rest: httpx.AsyncClient):
    for number in range(3):
        for mode in Mode:
            for alpha in (0, 0.5, 1):
                for query in ("tea", "tea tea tea", "nothing in common", "?"):
                    hits = await search(rest, query, mode=mode, alpha=alpha, explain=True, collapse=False)
                    assert len(hits) == number
                    assert all(0 <= hit["score"] <= 1 for hit in hits)
        await store(rest, "tea", created_at="2024-01-01")


ODD = (
    ".",
    "😀",
    "a" * 8000,
    "\u200b\u200b\u2060!",
    "\ue000\ue001",
    "。。。",
    "\u0301",
    "1",
    "\u200b.\u200b",
    "🏳️‍🌈 🏳️‍🌈",
)


async def test_odd_texts_are_kept_score_finite_and_do_not_come_first_for_others(rest: httpx.AsyncClient):
    await store(rest, "The ferry leaves at noon.", created_at="2001-01-01")
    for content in ODD:
        await store(rest, content)
    for mode in Mode:
        hits = await search(rest, "When does the ferry leave?", mode=mode, alpha=1, top_k=50, explain=True)
        assert len(hits) == len(ODD) + 1
        assert hits[0]["content"] == "The ferry leaves at noon."
        for hit in hits:
            assert all(part is None or math.isfinite(part) for part in hit["explain"].values())
        again = await search(rest, "When does the ferry leave?", mode=mode, alpha=1, top_k=50)
        assert [hit["id"] for hit in again] == [hit["id"] for hit in hits]


async def test_every_odd_text_is_a_question_too(rest: httpx.AsyncClient):
    await store_all(rest, ODD)
    for query in ODD:
        for mode in Mode:
            assert len(await search(rest, query[:2000], mode=mode, top_k=50)) == len(ODD)


async def test_memories_without_vectors_or_of_other_states_break_no_search(rest: httpx.AsyncClient, database: str):
    memories = await store_all(rest, ["green tea", "tea of the past", "tea of the archive", "tea without a vector"])
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for memory, statement in (
            (memories[1], "UPDATE memex.memories SET expires_at = '2020-01-01' WHERE id = %s"),
            (memories[2], "UPDATE memex.memories SET state = 'archived' WHERE id = %s"),
            (memories[3], "DELETE FROM memex.memory_vectors WHERE memory_id = %s"),
        ):
            await connection.execute(statement, (memory["id"],))
    for mode in Mode:
        assert await texts(rest, "green tea", mode=mode) == ["green tea", "tea without a vector"]
    assert await count(rest) == 2


# Clients that leave, and what operators see.


async def test_clients_that_hang_up_are_no_errors_and_leave_nothing_behind(service: Running, caplog: Any):
    await store(service.client, "green tea")
    service.encoder.forget()
    service.encoder.hold()
    searches = [asyncio.create_task(ask(service.client, f"question {n}")) for n in range(100)]
    await asyncio.to_thread(service.encoder.started.acquire)
    for one in searches:
        one.cancel()
    await asyncio.gather(*searches, return_exceptions=True)
    service.encoder.release()
    assert await texts(service.client, "green tea") == ["green tea"]
    text = (await service.client.get("/metrics")).text
    assert not re.findall(r'http_requests_total\{.*status="[45]xx"\}', text)
    assert "memex_requests_in_flight 1.0" in text  # this one
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


async def test_a_hundred_equal_questions_are_one_inference(service: Running):
    await store(service.client, "green tea")
    service.encoder.forget()
    await asyncio.gather(*[search(service.client, "What does Ana drink?") for _ in range(100)])
    await search(service.client, "What does Ana drink?")
    assert service.encoder.texts == ["What does Ana drink?"]


async def test_the_number_of_series_does_not_grow_with_users_and_agents(rest: httpx.AsyncClient):
    async def series(user: int) -> int:
        who = {"agent_id": f"agent-{user}-of-many", "user_id": f"user-{user}-of-many"}
        memory = await store(rest, f"note-{user}-of-many", **who)
        await search(rest, "note", **who)
        await count(rest, **who)
        await delete(rest, memory)
        assert (await rest.get(f"/some/path/{user}")).status_code == 404
        text = (await rest.get("/metrics")).text
        assert "of-many" not in text
        assert memory["id"] not in text
        return sum(not line.startswith("#") for line in text.splitlines())

    await series(0)
    bound = await series(1)
    assert [await series(user) for user in range(2, 200)] == [bound] * 198


async def test_requests_are_counted_under_the_labels_that_dashboards_read(rest: httpx.AsyncClient):
    await store(rest, "green tea")
    await ask(rest, " ")
    text = (await rest.get("/metrics")).text
    assert 'http_requests_total{handler="/v1/memories",method="POST",status="2xx"} 1.0' in text
    assert 'http_requests_total{handler="/v1/memories/search",method="POST",status="4xx"} 1.0' in text
    assert 'http_request_duration_seconds_count{handler="/v1/memories",method="POST"} 1.0' in text
    assert 'memex_memory_operations_total{operation="create"} 1.0' in text


async def test_the_defaults_of_a_search_are_the_configured_ones(run: Run):
    kept = Ranking(top_k=3, alpha=0.0, half_life_days=2.0, importance_weight=0.0)
    async with run(ranking=kept, app=App(name="my memory")) as service:
        ages = [timedelta(days=day) for day in range(10)]
        for age in random.sample(ages, len(ages)):
            await store(service.client, f"tea {age.days}", created_at=(datetime.now(UTC) - age).isoformat())
        hits = await search(service.client, "tea", explain=True)
        assert [hit["content"] for hit in hits] == ["tea 0", "tea 1", "tea 2"]
        assert hits[2]["score"] == pytest.approx(0.5, abs=0.01)
        assert (await service.client.get("/")).json()["service"] == "my memory"


async def test_a_first_search_finds_the_model_ready(run: Run):
    async with run() as service:
        await asyncio.gather(*[search(service.client, f"question {n}") for n in range(20)])
        assert sorted(service.encoder.texts) == sorted(f"question {n}" for n in range(20))
        assert (await service.client.get("/readyz")).json()["checks"]["model"] is True
