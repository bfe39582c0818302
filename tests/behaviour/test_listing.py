"""GET /v1/memories: every memory once, newest first, with an exact total."""

import asyncio
import base64
import random
from typing import Any

import httpx
import pytest

from memex.model import ListQuery, Position
from memex.service import cursors
from tests.behaviour.asking import ANA, change, delete, locations, move, store, store_all
from tests.behaviour.manifest import proves

Memory = dict[str, Any]
TAGS = ["test", "testing", "my-test", "a_b", "axb", "50%", "5012", "C\\D", "a,b", "c|d", " e "]


async def listing(rest: httpx.AsyncClient, **asked: Any) -> dict[str, Any]:
    """One page that is answered for sure."""
    answer = await rest.get("/v1/memories", params=ANA | asked)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def pages(rest: httpx.AsyncClient, **asked: Any) -> list[dict[str, Any]]:
    """All pages to the end."""
    found = [await listing(rest, **asked)]
    while cursor := found[-1]["next_cursor"]:
        found.append(await listing(rest, **asked, cursor=cursor))
    return found


def contents(page: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in page["memories"]]


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (100, [7])])
async def test_pages_hold_each_memory_once_newest_first(rest: httpx.AsyncClient, limit: int, sizes: list[int]):
    times = ["2026-01-01", "2024-01-01", "9999-01-01", "0001-01-01", "2024-01-01", "2025-06-01", "2024-01-01"]
    stored = [await store(rest, str(number), created_at=time) for number, time in enumerate(times)]
    found = await pages(rest, limit=limit)
    assert [len(page["memories"]) for page in found] == sizes
    assert {page["total"] for page in found} == {7}
    listed = [memory for page in found for memory in page["memories"]]
    assert listed == sorted(stored, key=lambda m: (m["created_at"], m["id"]), reverse=True)


async def test_an_empty_list_is_one_page(rest: httpx.AsyncClient):
    assert await listing(rest) == {"memories": [], "total": 0, "next_cursor": None}
    await store(rest, "x", user_id="ben")
    assert await listing(rest) == {"memories": [], "total": 0, "next_cursor": None}


@proves("list.steady")
async def test_what_is_there_all_the_time_is_listed_once_while_all_else_changes(rest: httpx.AsyncClient):
    """Between pages memories come before, behind and beside the place, others go, and some change."""
    chance = random.Random(5)  # noqa: S311 - repeatable is what counts
    kept = await store_all(rest, map(str, range(60)), created_at="2026-01-01T00:00:00Z")
    fleeting = await store_all(rest, map(str, range(60, 120)), created_at="2026-01-01T00:00:00Z")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await listing(rest, limit=7, **cursor)
        assert page["total"] == 60 + len(fleeting)
        seen += [memory["id"] for memory in page["memories"]]
        if not page["next_cursor"]:
            break
        cursor = {"cursor": page["next_cursor"]}
        await delete(rest, fleeting.pop(chance.randrange(len(fleeting))))
        await asyncio.gather(*[change(rest, memory, importance=chance.random()) for memory in chance.sample(kept, 3)])
        for year in ("2025", "2026", "2027")[: chance.randint(0, 3)]:
            fleeting.append(await store(rest, "new", created_at=f"{year}-01-01T00:00:00Z"))
    assert sorted(id_ for id_ in seen if id_ in {m["id"] for m in kept}) == sorted(memory["id"] for memory in kept)
    assert len(set(seen)) == len(seen)


async def test_each_filter_lets_through_exactly_its_own(rest: httpx.AsyncClient):
    first = {"tags": ["a", "b"], "session_id": "s", "source": "mail", "memory_type": "semantic"}
    await store(rest, "one", **first, created_at="2024-01-01")
    await store(rest, "two", tags=["b", "c"], session_id="t", created_at="2025-01-01")
    await store(rest, "three", memory_type="procedural", created_at="2026-01-01")
    for asked, found in (
        ({"tags_any": ["a", "c"]}, ["two", "one"]),
        ({"tags_all": ["b", "a"]}, ["one"]),
        ({"tags_all": "b"}, ["two", "one"]),
        ({"session_id": "t"}, ["two"]),
        ({"source": "mail"}, ["one"]),
        ({"types": ["semantic", "procedural"]}, ["three", "one"]),
        ({"created_after": "2025-01-01"}, ["three", "two"]),
        ({"created_before": "2025-01-01T01:00:00+01:00"}, ["one"]),
        ({"created_after": "2024-06-01", "created_before": "1767225600"}, ["two"]),
        ({"types": "semantic", "tags_any": "c"}, []),
    ):
        page = await listing(rest, **asked)
        assert (contents(page), page["total"]) == (found, len(found)), asked


@pytest.mark.parametrize("tag", TAGS)
async def test_a_tag_is_compared_as_a_whole(rest: httpx.AsyncClient, tag: str):
    for other in TAGS:
        await store(rest, other, tags=[other])
    assert contents(await listing(rest, tags_any=tag)) == [tag]


async def test_archived_memories_are_listed_where_they_are_asked_for(rest: httpx.AsyncClient):
    memory = await store(rest, "x")
    await move(rest, memory, "archive")
    assert (await listing(rest))["total"] == 0
    (found,) = (await listing(rest, include_archived=True))["memories"]
    assert found["state"] == "archived"


async def test_an_awkward_user_and_agent_are_listed(rest: httpx.AsyncClient):
    who = {"agent_id": "a::b/c?d#e %20 ü+", "user_id": "ana' OR '1'='1"}
    await store(rest, "x", **who)
    assert contents(await listing(rest, **who)) == ["x"]


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        *[({"limit": value}, "limit") for value in ("-1", "0", "2.5", "1000000000", str(2**63), "abc", "", "101")],
        *[({"cursor": value}, "cursor") for value in ("", "x", "AAAA", "é", "=", "A" * 56, "A" * 129, "-1")],
        ({"offset": "1"}, "offset"),
        ({"user_id": " "}, "user_id"),
        ({"agent_id": "\t"}, "agent_id"),
        ({"tags_any": ""}, "tags_any"),
        ({"types": "none"}, "types"),
        ({"agents": ""}, "agents"),
        ({"created_after": "2025-01-01", "created_before": "2025-01-01"}, "created_before"),
        ({"session_id": "a\0b"}, "session_id"),
        ({"user_id": ["ana", "ben"]}, "user_id"),
    ],
)
async def test_a_fault_is_named(rest: httpx.AsyncClient, asked: dict[str, Any], at: str):
    assert at in {loc[1] for loc in locations(await rest.get("/v1/memories", params=ANA | asked))}


async def test_a_cursor_is_good_for_its_own_list_alone(rest: httpx.AsyncClient):
    await store_all(rest, "xyz", tags=["t"])
    cursor = (await listing(rest, limit=1, tags_any="t"))["next_cursor"]
    assert len((await listing(rest, limit=2, tags_any="t", cursor=cursor))["memories"]) == 2
    for other in ({}, {"tags_any": "u"}, {"tags_all": "t"}, {"tags_any": "t", "user_id": "ben"}):
        answer = await rest.get("/v1/memories", params=ANA | {"limit": 1, "cursor": cursor} | other)
        assert locations(answer) == [["query", "cursor"]], other


async def test_no_changed_cursor_is_taken(rest: httpx.AsyncClient):
    await store_all(rest, "xyz")
    cursor = (await listing(rest, limit=1))["next_cursor"]
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    changed = [raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :] for at in range(len(raw))]
    texts = [base64.urlsafe_b64encode(other).decode().rstrip("=") for other in (*changed, raw[:-1], raw + b"x")]
    for text in (*texts, cursor + "=", cursor + "!", cursor[:-1]):
        answer = await rest.get("/v1/memories", params=ANA | {"cursor": text})
        assert locations(answer) == [["query", "cursor"]], text


@pytest.mark.parametrize("created_at", [-(2**63), -(2**62), 2**62, 2**63 - 1])
async def test_no_cursor_names_a_time_that_no_memory_has(rest: httpx.AsyncClient, created_at: int):
    forged = cursors.written(ListQuery(agent_id="assistant", user_id="ana"), Position(created_at, bytes(16)))
    answer = await rest.get("/v1/memories", params=ANA | {"cursor": forged})
    assert locations(answer) == [["query", "cursor"]]
