"""The answers of the running service against the float64 oracle, and the promises of the formula one by one."""

import asyncio
import math
import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import numpy as np
import pytest

from memex.model import Hit, IndexRow, Mode
from memex.service.clock import StoreClock
from memex.settings import Index, RankingEngine
from memex.settings import Ranking as Defaults
from tests.behaviour.asking import count, search, store, store_all, texts
from tests.behaviour.world import NOW, World, micros, ranking, stamp
from tests.fixtures.app import Run
from tests.oracles import ranking as oracle

# In memory, in the database, and in the database because it fits no memory.
ENGINES: dict[str, dict[str, Any]] = {
    "memory": {},
    "database": {"ranking": Defaults(engine=RankingEngine.DATABASE)},
    "too large": {"index": Index(memory=1)},
}
# Single precision in the inner product, against double precision in the oracle.
NEAR = 2e-6


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoreClock, "now", lambda self: micros(NOW))


def is_clear(scored: list[tuple[IndexRow, Hit]]) -> bool:
    """Whether no two scores are so near to a tie's width apart that single precision may decide otherwise."""
    scores = sorted(hit.score for _, hit in scored)
    gaps = np.diff(np.array(scores)) if len(scores) > 1 else np.array([1.0])
    sums = [abs(high - low - oracle.TIE) for low in scores for high in scores if high > low]
    return bool((np.abs(gaps - oracle.TIE) > 2 * NEAR).all()) and min(sums, default=1.0) > 2 * NEAR


def check(hits: list[dict[str, Any]], scored: list[tuple[IndexRow, Hit]], asked: dict[str, Any]) -> None:
    """Right parts and scores, nothing better left out, and the very same order wherever that is not a toss-up."""
    expected = oracle.order(scored, ranking(asked))[: asked["top_k"]]
    truth = {str(UUID(bytes=hit.id)): hit for _, hit in scored}
    finals = [hit["explain"]["final"] for hit in hits]
    assert finals == pytest.approx([hit.score for hit in expected], abs=oracle.TIE + 2 * NEAR)
    for hit in hits:
        wanted, parts = truth[hit["id"]], hit["explain"]
        assert hit["score"] == round(parts["final"], 4)
        assert (parts["cosine"] is None) == (asked["mode"] == "keyword")
        assert parts["cosine"] is None or parts["cosine"] == pytest.approx(wanted.cosine, abs=NEAR)
        for name in ("lexical", "relevance", "importance", *(() if at_database_time(asked) else ("recency",))):
            assert parts[name] == pytest.approx(getattr(wanted, name), rel=NEAR, abs=NEAR), name
        assert parts["final"] == pytest.approx(wanted.score, abs=NEAR)
        assert math.isclose(parts["final"], composed(parts, asked), abs_tol=NEAR)
    if is_clear(scored):
        assert [hit["id"] for hit in hits] == [str(UUID(bytes=hit.id)) for hit in expected]
        assert [hit["duplicates"] for hit in hits] == [hit.duplicates for hit in expected]


def at_database_time(asked: dict[str, Any]) -> bool:
    return "metadata" in (asked["filters"] or {})


def composed(parts: dict[str, Any], asked: dict[str, Any]) -> float:
    """The final score from the parts that the answer itself shows."""
    semantic = min(max(parts["cosine"] or 0.0, 0.0), 1.0)
    keyword = parts["lexical"] / (parts["lexical"] + 16)
    relevance = {"semantic": semantic, "keyword": keyword, "hybrid": (semantic + keyword) / 2}[asked["mode"]]
    alpha: float = asked["alpha"]
    score: float = (alpha * relevance + (1 - alpha) * parts["recency"]) * parts["importance"]
    return score


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
async def test_every_answer_is_the_one_of_the_formula(run: Run, database: str, seed: int, engine: str):
    async with run(**ENGINES[engine]) as service:
        world = World(service.client, seed)
        await world.add(150)
        await world.expire(database, 10)
        await world.archive(database, 10)
        for step in range(80):
            if step == 40:
                await world.remove(25)
                await world.add(40)
                await world.settle()
            asked = world.question()
            hits = await search(service.client, explain=True, **asked)
            check(hits, world.expected(asked), asked)


async def test_a_space_that_outgrows_the_memory_is_answered_as_before(run: Run):
    async with run(index=Index(memory=200_000)) as service:
        world, value = World(service.client, 5), service.metrics.registry.get_sample_value
        for _ in range(30):
            await world.add(20)
            await world.settle()
            asked = world.question()
            check(await search(service.client, explain=True, **asked), world.expected(asked), asked)
        by = [value("memex_search_engine_total", {"engine": engine}) or 0 for engine in ("memory", "database")]
        assert min(by) > 20
        assert (value("memex_index_resident_bytes") or 0) < 200_000


async def test_most_of_these_questions_have_hits_and_a_clear_order(rest: httpx.AsyncClient):
    world = World(rest, 0)
    await world.add(150)
    asked = [world.question() for _ in range(80)]
    scored = [world.expected(question) for question in asked]
    assert sum(bool(hits) for hits in scored) > 50
    assert sum(is_clear(hits) for hits in scored if hits) > 20
    shared = [
        question["agents"] and any(row.agent_id != question["agent_id"] for row, _ in hits)
        for question, hits in zip(asked, scored, strict=True)
    ]
    assert sum(map(bool, shared)) > 20
    assert sum(at_database_time(question) and bool(hits) for question, hits in zip(asked, scored, strict=True)) > 3


@pytest.mark.parametrize("k", [1, 7, 49, 50])
async def test_if_k_rows_match_k_come_back(rest: httpx.AsyncClient, k: int):
    await asyncio.gather(*[store(rest, f"note {n}", created_at=stamp(timedelta(days=n))) for n in range(60)])
    await asyncio.gather(*[store(rest, "note 0") for _ in range(20)])
    for mode in Mode:
        for asked in ("note", "nothing in common"):
            assert len(await search(rest, asked, top_k=k, mode=mode)) == k
            assert len(set(await texts(rest, asked, top_k=k, mode=mode))) == k


async def test_a_small_agent_among_near_memories_of_a_large_one_finds_all_of_its_own(rest: httpx.AsyncClient):
    await store_all(rest, [f"green tea {n}" for n in range(1_000)], agent_id="large")
    own = {f"harbour {n} with a pot of tea" for n in range(50)}
    await store_all(rest, own, agent_id="small")
    rare = await store(rest, "harbour", agent_id="large", memory_type="procedural")
    for mode in Mode:
        assert set(await texts(rest, "green tea", mode=mode, agent_id="small", top_k=50)) == own
        (found,) = await search(rest, "green tea", mode=mode, agent_id="large", filters={"types": ["procedural"]})
        assert found["id"] == rare["id"]


async def test_alpha_zero_is_the_newest_first_whatever_the_texts_say(rest: httpx.AsyncClient):
    ages = [timedelta(hours=h) for h in range(-40, 160)]
    await asyncio.gather(*[store(rest, f"tea {age}", created_at=stamp(age)) for age in random.sample(ages, len(ages))])
    newest = await store(rest, "unlike", created_at=stamp(timedelta(days=-30)))
    hits = await search(rest, "tea", alpha=0, top_k=50)
    assert hits[0]["id"] == newest["id"]
    assert [hit["content"] for hit in hits[1:]] == [f"tea {age}" for age in ages[:49]]


async def test_the_future_and_the_distant_past_score_inside_the_range(rest: httpx.AsyncClient):
    for age in (timedelta(days=3650), timedelta(hours=1), timedelta(days=-1), timedelta(days=-365_000)):
        await store(rest, "green tea", created_at=stamp(age))
    for mode in Mode:
        hits = await search(rest, "green tea", mode=mode, collapse=False, explain=True)
        assert [hit["created_at"] for hit in hits] == sorted((hit["created_at"] for hit in hits), reverse=True)
        assert [hit["explain"]["recency"] for hit in hits][:2] == [1.0, 1.0]
        assert all(0 <= hit["score"] <= 1 for hit in hits)


async def test_importance_counts_as_much_as_asked(rest: httpx.AsyncClient):
    await store(rest, "green tea", importance=0.0)
    await store(rest, "tea in a green cup", importance=2.0)
    assert await texts(rest, "green tea", importance_weight=0) == ["green tea", "tea in a green cup"]
    assert await texts(rest, "green tea", importance_weight=1) == ["tea in a green cup", "green tea"]
    assert (await search(rest, "green tea", importance_weight=1))[1]["score"] == 0


async def test_a_floor_of_relevance_keeps_the_unrelated_out(rest: httpx.AsyncClient):
    await store(rest, "The ferry leaves at noon.")
    assert await search(rest, "green tea", alpha=1, min_score=0.2) == []
    assert len(await search(rest, "ferry at noon", alpha=1, min_score=0.2)) == 1


async def test_a_word_of_the_end_of_a_long_text_is_found(rest: httpx.AsyncClient):
    long = await store(rest, f"{'x' * 7_900} zeppelin")
    await store_all(rest, [f"some other note {n}" for n in range(20)])
    for mode in Mode:
        hits = await search(rest, "zeppelin", alpha=1, mode=mode)
        assert hits[0]["id"] == long["id"]
        assert hits[0]["score"] > 0


async def test_what_expires_while_resident_is_not_found_any_more(
    rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    kept, gone = await store(rest, "green tea"), await store(rest, "tea", ttl_seconds=100)
    for mode in Mode:
        assert len(await search(rest, "tea", mode=mode)) == 2
    expires = micros(datetime.fromisoformat(gone["expires_at"]))
    for moment, ids in ((expires - 1, {kept["id"], gone["id"]}), (expires, {kept["id"]})):
        monkeypatch.setattr(StoreClock, "now", lambda self, moment=moment: moment)
        for mode in Mode:
            assert {hit["id"] for hit in await search(rest, "tea", mode=mode)} == ids
    assert await count(rest) == 2
