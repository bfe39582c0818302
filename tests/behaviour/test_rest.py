"""What a REST client can rely on, from the request to the row and back."""

import json
import re
import uuid
from typing import Any

import httpx
import pytest

from memex.model import Mode
from memex.settings import Limits
from tests.behaviour.asking import ANA, count, search, store, texts

AWKWARD = 'a::b/c?d#e %20 ü+\'; -- \\ {"$ne":""}'


async def test_a_memory_lives_from_store_to_delete(rest: httpx.AsyncClient):
    stored = await store(rest, "Ana prefers green tea.", importance=1.5, memory_type="semantic")
    assert stored["score"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", stored["created_at"])
    (found,) = await search(rest, "green tea")
    assert found["score"] > 0
    assert {k: found[k] for k in stored if k != "score"} == {k: stored[k] for k in stored if k != "score"}
    assert await count(rest) == 1
    path, owner = f"/v1/memories/{stored['id']}", {"agent_id": "assistant"}
    assert (await rest.delete(path, params=owner)).status_code == 204
    assert (await search(rest, "green tea"), await count(rest)) == ([], 0)
    assert (await rest.delete(path, params=owner)).status_code == 404


async def test_what_was_sent_comes_back_unchanged(rest: httpx.AsyncClient):
    sent = {
        "tags": ["a,b", " e ", "50%", "茶"],
        "metadata": {"year": 2024, "big": 2**60, "half": 0.5, "list": [None, True, {"": "\\u0000 \u2028"}]},
        "session_id": "s1",
        "source": "chat",
        "external_id": "x-1",
    }
    content = " \t喝茶 😀 '; DROP TABLE memories; -- \n"
    stored = await store(rest, content, **sent)
    (found,) = await search(rest, "茶")
    for memory in (stored, found):
        assert memory["content"] == content
        assert {name: memory[name] for name in sent} == sent


async def test_a_time_has_many_forms_and_one_meaning(rest: httpx.AsyncClient):
    for given in (
        {"created_at": "2024-05-01T15:30:00+05:30"},
        {"created_at": "2024-05-01T10:00"},
        {"timestamp": 1_714_557_600},
        {"timestamp": 1_714_557_600_000},
        {"created_at": 1_714_557_600.0, "timestamp": "2024-05-01T10:00:00Z"},
    ):
        assert (await store(rest, "x", **given))["created_at"] == "2024-05-01T10:00:00.000000Z", given


async def test_far_times_are_kept_and_searched_newest_first(rest: httpx.AsyncClient):
    times = ["9999-12-31T23:59:59.999999Z", "1900-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"]
    for number, time in enumerate(times):
        assert (await store(rest, f"tea {number}", created_at=time))["created_at"] == time
    assert [hit["created_at"] for hit in await search(rest, "tea", alpha=0)] == times


async def test_an_external_id_met_again_changes_nothing(rest: httpx.AsyncClient):
    first = await store(rest, "one", external_id="x")
    again = await rest.post("/v1/memories", json=ANA | {"content": "two", "external_id": "x"})
    assert (again.status_code, again.json()) == (200, first)
    assert await count(rest) == 1


WRONG: tuple[dict[str, Any], ...] = (
    {"content": " "},
    {"content": "x" * 8001},
    {"content": "a\0b"},
    {"user_id": "\ud800"},
    {"importance": 2.1},
    {"memory_type": "other"},
    {"created_at": "yesterday"},
    {"tags": ["a", ""]},
    {"metadata": {"a": "x" * 17_000}},
    {"metadata": {"a\0": 1}},
    {"visibility": "public"},
    {"on_duplicate": "merge"},
    {"embedding": [1.0, 2.0]},
    {"namespace": "x"},
)


async def test_what_is_refused_is_not_stored(rest: httpx.AsyncClient):
    await store(rest, "x")
    for wrong in WRONG:
        sent = json.dumps(ANA | {"content": "x"} | wrong).encode()
        answer = await rest.post("/v1/memories", content=sent)
        assert answer.status_code == 422, wrong
        assert answer.json()["detail"][0]["loc"][1] == next(iter(wrong))
    assert await count(rest) == 1


async def test_another_agent_or_user_neither_finds_nor_deletes(rest: httpx.AsyncClient):
    stored = await store(rest, "green tea")
    path = f"/v1/memories/{stored['id']}"
    assert await search(rest, "green tea", agent_id="other") == []
    assert await search(rest, "green tea", user_id="ben") == []
    assert await count(rest, user_id="ben") == await count(rest, agent_id="other") == 0
    for owner in ({"agent_id": "other"}, {"agent_id": "assistant", "user_id": "ben"}):
        assert (await rest.delete(path, params=owner)).status_code == 404
    assert (await rest.delete(f"/v1/memories/{uuid.uuid4()}", params={"agent_id": "assistant"})).status_code == 404
    assert await count(rest) == 1
    assert (await rest.delete(path, params=ANA)).status_code == 204


NAMES = (AWKWARD, "7d444840-9dc0-11d1-b245-5ffdce74fad2", "ends-in-", "-", "%", "../..", "null", "à", "a\u0300")


async def test_awkward_names_are_of_the_same_memory_everywhere(rest: httpx.AsyncClient):
    """A name of each kind; what has the names before it is another's."""
    for name in NAMES:
        who = {"agent_id": name, "user_id": f"{name}2"}
        named: dict[str, Any] = {"session_id": name, "source": name, "tags": [name], "metadata": {name: name}}
        stored = await store(rest, "tea", **who, **named, external_id=name, visibility="shared")
        path = f"/v1/memories/{stored['id']}"
        lists: dict[str, Any] = {"tags_any": [name], "tags_all": [name], "session_id": name, "source": name}
        for asked in ({}, *({field: value} for field, value in lists.items()), {"metadata": {name: name}}):
            for mode in Mode:
                (hit,) = await search(rest, "tea", **who, filters=asked, mode=mode)
                assert hit["id"] == stored["id"]
        (shared,) = await search(rest, "tea", agent_id="other", user_id=f"{name}2", agents=[name])
        assert shared["id"] == stored["id"]
        assert [m["id"] for m in (await rest.get("/v1/memories", params=who | lists)).json()["memories"]] == [hit["id"]]
        assert (await rest.post("/v1/memories", json=who | {"content": "x", "external_id": name})).json() == stored
        assert (await rest.get(path, params=who)).json() == stored
        for verb in ("archive", "restore"):
            assert (await rest.post(f"{path}/{verb}", params=who)).json()["tags"] == [name]
        assert (await rest.patch(path, params=who, json={"importance": 2.0})).json()["version"] == 4
        assert (await rest.get(f"{path}/history", params=who)).json()["total"] == 4
        assert await count(rest, **who) == 1
        assert (await rest.get("/v1/stats", params=who)).json()["memories"]["total"] == 1
        assert (await rest.post("/v1/context", json=who | {"query": "tea"})).json()["ids"] == [stored["id"]]
        assert (await rest.delete(path, params=who)).status_code == 204
        again = await store(rest, "tea", **who, **named, external_id=name)
        assert (await rest.post("/v1/memories/delete", json=who | lists)).json()["deleted"] == 1
        assert (await rest.get(f"/v1/memories/{again['id']}", params=who)).status_code == 404


QUERIES = (
    "state-of-the-art", "O'Neil & sons", '"unclosed', "foo | bar!", "a:*", "(", ";", "\\", "--", "<->", "?!…", "😀",
    "10-20",
)  # fmt: skip


async def test_any_query_is_answered_and_finds_its_words(rest: httpx.AsyncClient):
    for query in QUERIES:
        await store(rest, f"before {query} after")
    for query in QUERIES:
        for mode in Mode:
            found = await texts(rest, query, mode=mode, alpha=1, top_k=50)
            assert len(found) == len(QUERIES)
            if any(mark.isalnum() for mark in query):
                assert found[0] == f"before {query} after", mode


async def test_filters_and_weights_act(rest: httpx.AsyncClient):
    old = await store(rest, "green tea", created_at="2020-01-01", memory_type="semantic")
    new = await store(rest, "black coffee", created_at="2024-01-01", memory_type="episodic")

    async def ids(**fields: Any) -> list[str]:
        return [hit["id"] for hit in await search(rest, "green tea", **fields)]

    assert await ids(alpha=1) == [old["id"], new["id"]]
    assert await ids(alpha=0) == [new["id"], old["id"]]
    assert await ids(alpha=1, top_k=1) == [old["id"]]
    assert await ids(memory_type="episodic") == await ids(filters={"types": ["episodic"]}) == [new["id"]]
    assert await ids(filters={"created_after": "2024-01-01T00:00:00Z"}) == [new["id"]]
    assert await ids(filters={"created_before": "2024-01-01T01:00:00+01:00"}) == [old["id"]]
    assert await ids(min_score=1000) == []


async def test_equal_texts_are_one_hit_unless_asked_otherwise(rest: httpx.AsyncClient):
    for _ in range(3):
        await store(rest, "green tea")
    assert [hit["duplicates"] for hit in await search(rest, "tea")] == [2]
    assert len(await search(rest, "tea", collapse=False)) == 3


async def test_a_score_is_explained(rest: httpx.AsyncClient):
    await store(rest, "green tea")
    (hit,) = await search(rest, "tea", explain=True)
    assert set(hit["explain"]) == {"cosine", "lexical", "relevance", "recency", "importance", "final"}
    assert hit["score"] == round(hit["explain"]["final"], 4)
    (plain,) = await search(rest, "tea")
    assert "explain" not in plain


async def test_the_service_says_that_it_is_well(rest: httpx.AsyncClient):
    health = await rest.get("/health")
    assert (health.status_code, health.json()["status"], health.json()["db"]) == (200, "ok", "ok")
    ready = await rest.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


async def test_metrics_hold_no_ids(rest: httpx.AsyncClient):
    stored = await store(rest, "secret tea", agent_id="agent-x")
    await rest.delete(f"/v1/memories/{stored['id']}", params={"agent_id": "agent-x"})
    text = (await rest.get("/metrics")).text
    assert 'handler="/v1/memories/{memory_id}"' in text
    assert not [word for word in ("agent-x", stored["id"], "secret") if word in text]


class TestLimited:
    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(writes_per_minute=1_000, searches_per_minute=1_000)

    async def test_what_is_left_is_told_per_kind(self, rest: httpx.AsyncClient):
        written = await rest.post("/v1/memories", json=ANA | {"content": "tea"})
        searched = await rest.post("/v1/memories/search", json=ANA | {"query": "tea"})
        for answer in (written, searched):
            assert answer.headers["ratelimit-limit"] == "1000"
            assert answer.headers["ratelimit-remaining"] == "999"
            assert 1 <= int(answer.headers["ratelimit-reset"]) <= 60
