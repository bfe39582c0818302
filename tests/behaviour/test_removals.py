"""POST /v1/memories/delete: all that meet the conditions, and nothing else."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode
from memex.settings import Limits
from tests.behaviour.asking import ANA, count, locations, move, search, store, store_all
from tests.behaviour.manifest import proves
from tests.behaviour.test_listing import TAGS, contents, listing

BEN = {"user_id": "ben"}


async def remove(rest: httpx.AsyncClient, **conditions: Any) -> int:
    """How many were deleted; a dry run before says the same and deletes nothing."""
    asked = {"agent_id": "assistant"} | conditions
    tried = await rest.post("/v1/memories/delete", json=asked | {"dry_run": True})
    assert tried.status_code == 200, tried.text
    done = await rest.post("/v1/memories/delete", json=asked)
    assert done.json() == tried.json() | {"dry_run": False}
    number: int = done.json()["deleted"]
    return number


@proves("delete.all-matches")
async def test_all_matches_go_not_a_page_of_them_and_others_stay(rest: httpx.AsyncClient):
    """More than several transactions hold."""
    await store_all(rest, map(str, range(600)))
    await store_all(rest, map(str, range(50)), **BEN)
    await store_all(rest, map(str, range(20)), agent_id="other")
    assert await remove(rest, user_id="ana") == 600
    assert [await count(rest), await count(rest, **BEN), await count(rest, agent_id="other")] == [0, 50, 20]
    for mode in Mode:
        assert len(await search(rest, "7", mode=mode, top_k=50, **BEN)) == 50
        assert await search(rest, "7", mode=mode) == []
    assert await remove(rest, user_id="ana") == 0


async def test_a_dry_run_deletes_nothing(rest: httpx.AsyncClient):
    await store_all(rest, "xyz")
    answer = await rest.post("/v1/memories/delete", json=ANA | {"dry_run": True})
    assert answer.json() == {"deleted": 3, "dry_run": True}
    assert await count(rest) == 3


async def test_without_a_user_the_agents_memories_of_all_users_go(rest: httpx.AsyncClient):
    for user in ("ana", "ben", "cleo"):
        await store(rest, "old", user_id=user, tags=["t"])
        await store(rest, "kept", user_id=user)
        await store(rest, "old", user_id=user, tags=["t"], agent_id="other")
    assert await remove(rest, tags_any=["t"]) == 3
    for user in ("ana", "ben", "cleo"):
        assert contents(await listing(rest, user_id=user)) == ["kept"]
        assert await count(rest, user_id=user, agent_id="other") == 1


async def test_an_agent_of_many_users_is_emptied_of_all_of_them(rest: httpx.AsyncClient):
    users = [{"user_id": f"user {number}"} for number in range(40)]
    for user in users:
        await store_all(rest, "ab", **user)
        await store(rest, "c", agent_id="other", **user)
    assert await remove(rest, older_than_days=0) == 80
    assert [await count(rest, **user) for user in users] == [0] * 40
    assert [await count(rest, agent_id="other", **user) for user in users] == [1] * 40


async def test_a_delete_that_fails_for_some_users_is_answered_as_their_error(rest: httpx.AsyncClient, database: str):
    for number in range(20):
        await store(rest, "a", user_id=f"user {number}")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("ALTER FUNCTION memex.memex_remove RENAME TO memex_gone")
        answer = await rest.post("/v1/memories/delete", json={"agent_id": "assistant", "older_than_days": 0})
        await connection.execute("ALTER FUNCTION memex.memex_gone RENAME TO memex_remove")
    assert (answer.status_code, answer.json()["code"]) == (500, "store_fault")
    assert await remove(rest, older_than_days=0) == 20


@pytest.mark.parametrize("tag", TAGS)
async def test_a_tag_is_compared_as_a_whole(rest: httpx.AsyncClient, tag: str):
    for other in TAGS:
        await store(rest, other, tags=[other])
    assert await remove(rest, tags_any=[tag]) == 1
    assert sorted(contents(await listing(rest))) == sorted(set(TAGS) - {tag})


async def test_each_condition_removes_exactly_its_own(rest: httpx.AsyncClient):
    now = datetime.now(UTC)
    for conditions, gone in (
        ({"session_id": "s"}, {"one"}),
        ({"source": "mail"}, {"one"}),
        ({"types": ["procedural"]}, {"three"}),
        ({"tags_all": ["b", "c"]}, {"two"}),
        ({"created_after": "2025-01-01", "created_before": 1_767_225_600}, {"two"}),
        ({"older_than_days": 100}, {"one", "two"}),
        ({"older_than_days": 0}, {"one", "two", "three"}),
        ({"older_than_days": 36_500}, set()),
        ({"content": "two"}, {"two"}),
        ({"content": "Two"}, set()),
        ({"user_id": "ben"}, set()),
        ({"tags_any": ["b"], "session_id": "t"}, {"two"}),
    ):
        await store(rest, "one", tags=["a", "b"], session_id="s", source="mail", created_at="2024-01-01")
        await store(rest, "two", tags=["b", "c"], session_id="t", created_at="2025-01-01")
        await store(rest, "three", memory_type="procedural", created_at=(now - timedelta(days=99)).isoformat())
        await store(rest, "other", user_id="cleo", agent_id="other")
        assert await remove(rest, **conditions) == len(gone), conditions
        assert set(contents(await listing(rest))) == {"one", "two", "three"} - gone, conditions
        await remove(rest, user_id="ana")


async def test_one_text_is_the_same_in_every_form_of_unicode(rest: httpx.AsyncClient):
    await store(rest, "caf\u00e9")
    await store(rest, "cafe")
    assert await remove(rest, content="cafe\u0301") == 1
    assert contents(await listing(rest)) == ["cafe"]


async def test_ids_remove_only_what_is_the_agents_own(rest: httpx.AsyncClient):
    own = [await store(rest, "x", user_id=user) for user in ("ana", "ben")]
    others = await store(rest, "x", agent_id="other", visibility="shared")
    ids = [memory["id"] for memory in (*own, others)]
    assert await remove(rest, ids=ids, user_id="ben") == 1
    assert await remove(rest, ids=[*ids, ids[0], "00000000-0000-0000-0000-000000000000"]) == 1
    assert await count(rest, agent_id="other") == 1


async def test_what_is_deleted_is_nowhere_any_more(rest: httpx.AsyncClient):
    """Archived and changed memories too, with all that they were."""
    active, archived = await store(rest, "green tea"), await store(rest, "green tea")
    await move(rest, archived, "archive")
    for mode in Mode:
        assert len(await search(rest, "tea", mode=mode, include_archived=True, collapse=False)) == 2
    assert await remove(rest, user_id="ana") == 2
    for memory in (active, archived):
        for path in ("", "/history"):
            answer = await rest.get(f"/v1/memories/{memory['id']}{path}", params={"agent_id": "assistant"})
            assert answer.status_code == 404
    for mode in Mode:
        for as_of in (None, active["recorded_at"]):
            assert await search(rest, "tea", mode=mode, include_archived=True, as_of=as_of) == []
    assert (await listing(rest, include_archived=True))["total"] == 0


@proves("delete.says-what")
@pytest.mark.parametrize(
    ("conditions", "at"),
    [
        ({}, []),
        ({"dry_run": True}, []),
        *[({name: None}, []) for name in ("user_id", "tags_any", "ids", "content", "session_id", "older_than_days")],
        *[({name: value}, [name]) for name in ("user_id", "session_id", "content") for value in ("", "  ", "\t", 5)],
        *[({name: []}, [name]) for name in ("tags_any", "tags_all", "types", "ids")],
        ({"tags_any": ["  "]}, ["tags_any", 0]),
        ({"ids": ["x"]}, ["ids", 0]),
        ({"older_than_days": -1}, ["older_than_days"]),
        ({"older_than_days": "NaN"}, ["older_than_days"]),
        ({"older_than_days": 1, "created_before": "2026-01-01"}, ["older_than_days"]),
        ({"created_after": "2026-01-01", "created_before": "2026-01-01"}, ["created_before"]),
        ({"user_id": {"$ne": ""}}, ["user_id"]),
        ({"user_id": ["ana"]}, ["user_id"]),
        ({"namespace": "ana"}, ["namespace"]),
        ({"session_id": "a\0b"}, ["session_id"]),
    ],
)
async def test_a_request_that_says_too_little_or_wrong_deletes_nothing(
    rest: httpx.AsyncClient, conditions: dict[str, Any], at: list[Any]
):
    await store(rest, "x")
    answer = await rest.post("/v1/memories/delete", json={"agent_id": "assistant"} | conditions)
    assert ["body", *at] in locations(answer)
    assert await count(rest) == 1


class TestWithLimits:
    """Deleting is not a write that counts."""

    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(writes_per_minute=1, searches_per_minute=1)

    async def test_a_delete_is_always_possible(self, rest: httpx.AsyncClient):
        await store(rest, "x")
        assert await remove(rest, user_id="ana") == 1
        assert await remove(rest, user_id="ana") == 0
