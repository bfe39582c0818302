"""Searches of the past: a random history replayed by an oracle, and the promises of `as_of` one by one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from memex.index import tokenize
from memex.model import Hit, IndexRow
from memex.settings import Ranking, RankingEngine
from tests.behaviour.asking import ANA, ask, change, delete, locations, move, search, store, texts
from tests.behaviour.test_ranking import check
from tests.behaviour.world import World, micros, ranking, row
from tests.fixtures.app import Run
from tests.oracles import ranking as oracle
from tests.oracles.conditions import hold

MOMENT = timedelta(microseconds=1)
STEPS = 150
# What a hit shows of the version that was valid; pointers to copies are kept up to date without a version.
SHOWN = [
    "content", "importance", "memory_type", "tags", "metadata", "session_id", "source", "visibility", "state",
    "version", "created_at", "recorded_at", "updated_at", "expires_at",
]  # fmt: skip


def time_of(memory: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(memory["updated_at"])


class History(World):
    """A world that changes, with all that its memories ever were, oldest first."""

    versions: dict[str, list[dict[str, Any]]]

    def __init__(self, rest: httpx.AsyncClient, seed: int) -> None:
        super().__init__(rest, seed)
        self.versions = {}
        self.pool = [self.sentence(self.random.randint(1, 6)) for _ in range(12)]

    async def step(self) -> None:
        act = self.random.choice(["write", "write", "change", "change", "change", "archive", "restore", "delete"])
        if act == "write" or not self.versions:
            memory = await store(self.rest, **self.memory(self.pool))
            self.versions[memory["id"]] = [memory]
            return
        kept = self.random.choice(list(self.versions.values()))
        if act == "delete":
            await delete(self.rest, kept[-1])
            del self.versions[kept[-1]["id"]]
        else:
            self.keep(kept, await self.changed(kept[-1], act))

    async def changed(self, memory: dict[str, Any], act: str) -> dict[str, Any]:
        if act != "change":
            return await move(self.rest, memory, act)
        fields = self.memory(self.pool)
        named = self.random.sample(["content", "importance", "visibility", "tags", "metadata"], 2)
        return await change(self.rest, memory, **{name: fields[name] for name in named})

    def keep(self, kept: list[dict[str, Any]], memory: dict[str, Any]) -> None:
        if memory["version"] > kept[-1]["version"]:
            kept.append(memory)

    def moments(self) -> list[datetime]:
        """Times at which something changed, and just before."""
        changes = [time_of(memory) for versions in self.versions.values() for memory in versions]
        return [moment - before for moment in changes for before in (MOMENT, timedelta(0))]

    def then(self, user: str, as_of: datetime) -> dict[str, dict[str, Any]]:
        """By id what was valid at a time of what is still there; shared is what was and is."""
        found = {}
        for id, versions in self.versions.items():
            valid = [memory for memory in versions if time_of(memory) <= as_of and memory["user_id"] == user]
            if valid:
                both = {valid[-1]["visibility"], versions[-1]["visibility"]} == {"shared"}
                found[id] = valid[-1] | {"seen": "shared" if both else "private"}
        return found

    def expected_then(self, asked: dict[str, Any], as_of: datetime) -> list[tuple[IndexRow, Hit]]:
        rows = self.then(asked["user_id"], as_of)
        ranked = ranking(asked)
        matching = [row(memory).id for memory in rows.values() if hold(memory["metadata"], ranked.metadata)]
        only = b"".join(sorted(matching)) if ranked.metadata else None
        seen = [msgspec.structs.replace(row(memory), visibility=memory["seen"]) for memory in rows.values()]
        return oracle.score_all(seen, msgspec.structs.replace(ranked, only=only, now=micros(as_of)))


@pytest.mark.parametrize("seed", range(3))
async def test_any_history_is_found_as_it_was(rest: httpx.AsyncClient, seed: int):
    history = History(rest, seed)
    for _ in range(STEPS):
        await history.step()
    answers = 0
    for _ in range(80):
        asked, as_of = history.question(), history.random.choice(history.moments())
        hits = await search(rest, explain=True, as_of=as_of.isoformat(), **asked)
        check(hits, history.expected_then(asked, as_of), asked)
        known = history.then(asked["user_id"], as_of)
        assert [{name: hit[name] for name in SHOWN} for hit in hits] == [
            {name: known[hit["id"]][name] for name in SHOWN} for hit in hits
        ]
        answers += bool(hits)
    assert answers > 5


async def test_nothing_was_known_before_it_was_stored(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", created_at="2001-01-01")
    stored = time_of(memory)
    assert await texts(rest, "tea", as_of=(stored - MOMENT).isoformat()) == []
    assert await texts(rest, "tea", as_of=stored.isoformat()) == ["green tea"]
    assert await texts(rest, "tea", as_of="0001-01-01") == []
    assert await texts(rest, "tea", user_id="nobody", as_of=stored.isoformat()) == []


async def test_a_changed_memory_is_found_by_what_it_said_then(rest: httpx.AsyncClient):
    memory = await store(rest, "drives a red car")
    after = await change(rest, memory, content="rides a blue bicycle")
    then = {"as_of": memory["updated_at"], "mode": "keyword", "alpha": 1.0, "min_score": 1e-6}
    assert await texts(rest, "car", **then) == ["drives a red car"]
    assert await texts(rest, "bicycle", **then) == []
    assert await texts(rest, "bicycle", **then | {"as_of": after["updated_at"]}) == ["rides a blue bicycle"]
    (hit,) = await search(rest, "car", as_of=memory["updated_at"], mode="semantic", explain=True)
    assert hit["explain"]["cosine"] > 0.4
    assert (hit["version"], hit["updated_at"]) == (1, memory["updated_at"])


async def test_what_is_archived_now_or_was_then_was_known(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    archived = await move(rest, memory, "archive")
    restored = await move(rest, memory, "restore")
    states = [
        [hit["state"] for hit in await search(rest, "tea", as_of=version["updated_at"])]
        for version in (memory, archived, restored)
    ]
    assert states == [["active"], ["archived"], ["active"]]


async def test_what_was_known_points_to_nothing_that_is_deleted(rest: httpx.AsyncClient):
    first = await store(rest, content="The kettle is blue")
    copy = await store(rest, content="The kettle is blue")
    assert copy["duplicate_of"] == first["id"]
    await change(rest, copy, content="The kettle is red")
    await delete(rest, first)
    (found,) = await search(rest, "kettle", as_of=copy["updated_at"])
    assert (found["content"], found["duplicate_of"]) == ("The kettle is blue", None)


async def test_what_is_deleted_was_never_known(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    changed = await change(rest, memory, content="black tea")
    await delete(rest, memory)
    for version in (memory, changed):
        assert await texts(rest, "tea", as_of=version["updated_at"]) == []


@pytest.mark.parametrize("first", ["private", "shared"])
async def test_others_find_what_was_shared_then_and_is_now(rest: httpx.AsyncClient, first: str):
    second = {"private": "shared", "shared": "private"}[first]
    memory = await store(rest, "green tea", visibility=first)
    changed = await change(rest, memory, visibility=second)
    other = {"agent_id": "other", "agents": "*"}
    assert await texts(rest, "tea", **other) == (["green tea"] if second == "shared" else [])
    assert await texts(rest, "tea", as_of=memory["updated_at"], **other) == []
    now = ["green tea"] if second == "shared" else []
    assert await texts(rest, "tea", as_of=changed["updated_at"], **other) == now
    assert await texts(rest, "tea", as_of=memory["updated_at"]) == ["green tea"]


async def test_private_words_of_the_past_are_in_no_statistics_of_others(rest: httpx.AsyncClient):
    """Neither those of memories that were private then nor of those that are now."""
    shared = await store(rest, "green tea in the harbour", visibility="shared")
    memories = [await store(rest, "tea tea tea", visibility=then) for then in ("private", "shared", "private")]
    for memory, now in zip(memories[:2], ("shared", "private"), strict=True):
        await change(rest, memory, visibility=now)
    (hit,) = await search(
        rest, "tea", agent_id="other", agents="*", as_of=memories[-1]["updated_at"], mode="keyword", explain=True
    )
    alone = oracle_of_one(shared["content"], "tea")
    assert hit["id"] == shared["id"]
    assert hit["explain"]["lexical"] == pytest.approx(alone, rel=1e-9)


def oracle_of_one(content: str, query: str) -> float:
    """BM25 of one document that is the whole corpus."""
    terms = tokenize(content)
    document = IndexRow(
        bytes(16), "a", "episodic", "private", "active", [], None, None, bytes(32), 1.0, 0, None, terms.ids,
        terms.counts, [],
    )  # fmt: skip
    (lexical,) = oracle.bm25([document], ranking(ANA | {"query": query, "mode": "keyword"} | PLAIN))
    return lexical


PLAIN: dict[str, Any] = {
    "top_k": 10, "alpha": 1.0, "half_life_days": 30.0, "importance_weight": 0.1, "min_score": None, "collapse": True,
    "filters": None, "agents": None, "include_archived": False,
}  # fmt: skip


async def test_what_has_expired_by_now_or_had_then_is_gone(rest: httpx.AsyncClient, database: str):
    kept, gone, late = [await store(rest, f"tea {n}", expires_at="2999-01-01") for n in range(3)]
    for memory in (kept, gone, late):
        await change(rest, memory, importance=2.0)
    last = await change(rest, late, importance=0.5)
    with psycopg.connect(database, autocommit=True) as connection:
        past = "UPDATE memex.memories SET expires_at = now() - interval '1 hour' WHERE id = %s"
        connection.execute(past, [gone["id"]])
        ended = "UPDATE memex.memory_versions SET expires_at = valid_from WHERE memory_id = %s AND version = 1"
        connection.execute(ended, [late["id"]])
    assert set(await texts(rest, "tea", as_of=late["updated_at"])) == {"tea 0"}
    assert set(await texts(rest, "tea", as_of=last["updated_at"])) == {"tea 0", "tea 2"}


async def test_ages_count_from_then(rest: httpx.AsyncClient):
    happened = datetime.now(UTC) - timedelta(days=3)
    memory = await store(rest, "green tea", created_at=happened.isoformat())
    (hit,) = await search(rest, "tea", as_of=memory["updated_at"], half_life_days=3, explain=True)
    assert hit["explain"]["recency"] == pytest.approx(0.5, abs=1e-4)


async def test_a_copy_of_then_is_folded_by_its_text_of_then(rest: httpx.AsyncClient):
    first, second = [await store(rest, "green tea") for _ in range(2)]
    await change(rest, first, content="black coffee")
    (hit,) = await search(rest, "tea", as_of=second["updated_at"])
    assert hit["duplicates"] == 1
    assert {hit["duplicates"] for hit in await search(rest, "tea")} == {0}


async def test_the_future_is_refused_by_name(rest: httpx.AsyncClient):
    soon = datetime.now(UTC) + timedelta(hours=1)
    for when in (soon.isoformat(), "9999-12-31", int(soon.timestamp()), "soon", True):
        assert locations(await ask(rest, "tea", as_of=when)) == [["body", "as_of"]]


async def test_the_past_is_never_answered_from_memory(run: Run):
    async with run(ranking=Ranking(engine=RankingEngine.AUTO)) as service:
        memory = await store(service.client, "green tea")
        await search(service.client, "tea", as_of=memory["updated_at"])
        value = service.metrics.registry.get_sample_value
        assert value("memex_search_engine_total", {"engine": "database"}) == 1
        assert value("memex_search_engine_total", {"engine": "memory"}) == 0
        assert value("memex_index_resident_spaces") == 0
