"""Times, numbers and texts at the edges of what can be said."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode
from memex.settings import Index
from tests.behaviour.asking import ANA, change, count, locations, search, store, store_all, texts
from tests.fixtures.app import Run

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
    for mode in Mode:
        hits = await search(rest, "tea", mode=mode, collapse=False)
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
        window = {"created_after": after, "created_before": before}
        for mode in Mode:
            assert sorted(await texts(rest, "tea", mode=mode, filters=window)) == ["tea 3", "tea 4"]


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
        for mode in Mode:
            hits = await search(service.client, "tea", mode=mode, half_life_days=1, explain=True)
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


MARKS = (".", "…", "。。。", "\u0301", "\u200b.\u200b", "\ue000", "?!")


async def test_marks_alone_are_near_nothing_whatever_they_become_and_were(run: Run):
    """In memory, in another process, and in the database alone."""
    async with run() as one, run() as another, run(index=Index(memory=1)) as bare:
        rest = one.client
        memories = [await store(rest, content) for content in MARKS]
        first = memories[0]
        for content, near in ((MARKS[0], 0), ("green tea", 1), (MARKS[0], 0), (MARKS[1], 0)):
            changed = await change(rest, first, content=content)
            for service in (one, another, bare):
                for mode in (Mode.SEMANTIC, Mode.HYBRID):
                    asked = {"mode": mode, "explain": True, "collapse": False}
                    for as_of in (None, max(changed["updated_at"], memories[-1]["updated_at"])):
                        found = await search(service.client, "green tea", **asked, as_of=as_of)
                        assert len(found) == len(MARKS)
                        assert sum(hit["explain"]["cosine"] is not None for hit in found) == near
                        assert sum(hit["explain"]["relevance"] > 0 for hit in found) == near
            assert await count(rest) == len(MARKS)


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
