"""What must hold through every surface."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memex.settings import Limits
from tests.behaviour.surfaces import SURFACES, Surface, open_surface
from tests.behaviour.test_rest import AWKWARD, QUERIES
from tests.fakes import FakeEncoder
from tests.fixtures.agents import held
from tests.fixtures.app import Run, Running
from tests.fixtures.relay import Relay
from tests.oracles.contract import FIRST_EIGHT
from tests.oracles.packets import plain, read

ANA = {"agent_id": "assistant", "user_id": "ana"}
OWN = {"agent_id": "assistant"}
LOOKALIKES = ["00123", "1e5", "true", "null", "[1,2]", '{"a":1}', '"quoted"', "ünï 小明 😀", "a\u2028b", "\\u0000"]
INJECTED = ["' OR '1'='1", "ana' OR '1'='1", '") or true or ("', "%", "*", "ana%00", "{}"]


@pytest.fixture(params=SURFACES)
async def surface(request: pytest.FixtureRequest, service: Running) -> AsyncIterator[Surface]:
    async with held(open_surface(request.param, service)) as opened:
        yield opened


async def store(surface: Surface, content: str, **fields: Any) -> dict[str, Any]:
    told = await surface.call("store_memory", ANA | {"content": content} | fields)
    assert not told.failed, told.text
    stored: dict[str, Any] = told.content
    return stored


async def search(surface: Surface, query: str, **fields: Any) -> list[dict[str, Any]]:
    told = await surface.call("search_memories", ANA | {"query": query} | fields)
    assert not told.failed, told.text
    assert (told.content["query"], told.content["total"]) == (query, len(told.content["results"]))
    found: list[dict[str, Any]] = told.content["results"]
    return found


async def count(surface: Surface, **fields: Any) -> int:
    told = await surface.call("count_memories", ANA | fields)
    assert not told.failed, told.text
    number: int = told.content["count"]
    return number


async def test_what_is_stored_is_found_counted_and_deleted_at_once(surface: Surface):
    tea = await store(surface, "Ana likes green tea", memory_type="semantic", importance=1.5)
    await store(surface, "the harbour is closed")
    assert (tea["memory_type"], tea["importance"], tea["state"]) == ("semantic", 1.5, "active")
    assert (await search(surface, "green tea"))[0]["id"] == tea["id"]
    assert [hit["id"] for hit in await search(surface, "harbour", memory_type="semantic")] == [tea["id"]]
    assert await count(surface) == 2
    assert not (await surface.call("delete_memory", OWN | {"memory_id": tea["id"]})).failed
    assert [hit["content"] for hit in await search(surface, "green tea")] == ["the harbour is closed"]
    assert await count(surface) == 1
    assert (await surface.call("delete_memory", OWN | {"memory_id": tea["id"]})).content["code"] == "not_found"


async def test_what_is_updated_is_found_by_its_new_text_alone(surface: Surface):
    tea = await store(surface, "drives a red car")
    named = OWN | {"memory_id": tea["id"]}
    told = await surface.call("update_memory", named | {"content": "keeps bees", "importance": 2})
    assert (told.failed, told.content["version"], told.content["importance"]) == (False, 2, 2.0)
    assert (await surface.call("get_memory", named)).content["content"] == "keeps bees"
    assert [hit["content"] for hit in await search(surface, "bees")] == ["keeps bees"]
    assert (await surface.call("update_memory", named | {"content": "a\0b"})).content["code"] == "invalid_request"
    assert (await surface.call("update_memory", named | {"content": "keeps bees"})).content["version"] == 2
    for name, change in (("get_memory", {}), ("update_memory", {"content": "mine"})):
        stranger = await surface.call(name, named | {"agent_id": "other"} | change)
        assert (stranger.failed, stranger.content["code"]) == (True, "not_found")


async def test_a_list_is_gone_through_page_by_page(surface: Surface):
    stored = [await store(surface, f"note {n}") for n in range(7)]
    await store(surface, "of another", user_id="ben")
    seen: list[str] = []
    cursor: str | None = None
    while cursor or not seen:
        told = await surface.call("list_memories", ANA | {"limit": 3} | ({"cursor": cursor} if cursor else {}))
        assert (told.failed, told.content["total"]) == (False, 7)
        seen += [memory["id"] for memory in told.content["memories"]]
        cursor = told.content["next_cursor"]
    assert seen == [memory["id"] for memory in reversed(stored)]
    between = {"created_after": stored[2]["created_at"], "created_before": stored[4]["created_at"]}
    told = await surface.call("list_memories", ANA | between)
    assert [memory["content"] for memory in told.content["memories"]] == ["note 3", "note 2"]
    wrong = await surface.call("list_memories", ANA | {"cursor": "of nothing"})
    assert (wrong.failed, wrong.content["code"]) == (True, "invalid_request")
    assert wrong.text.startswith("cursor: ")


async def test_a_context_is_whole_memories_within_its_length(surface: Surface):
    stored = [await store(surface, f"tea {n} " + "and tea " * (n * 8)) for n in range(8)]
    told = await surface.call("get_context", ANA | {"query": "tea", "max_tokens": 400})
    packet = told.content
    assert (told.failed, packet["total"], packet["left_out"]) == (False, 8, 8 - len(packet["ids"]))
    assert 0 < packet["tokens"] <= 400
    contents = {memory["id"]: plain(memory["content"]) for memory in stored}
    assert [entry[2] for entry in read(packet["text"])] == [contents[one] for one in packet["ids"]]
    assert told.text in ("", packet["text"])
    nothing = await surface.call("get_context", ANA | {"query": "tea", "user_id": "ben"})
    assert (nothing.failed, nothing.content["text"], nothing.content["ids"]) == (False, "", [])


async def test_another_agent_or_user_neither_finds_counts_nor_deletes(surface: Surface):
    tea = await store(surface, "green tea")
    assert (
        await search(surface, "green tea", agent_id="other") == await search(surface, "green tea", user_id="ben") == []
    )
    assert await count(surface, agent_id="other") == await count(surface, user_id="ben") == 0
    for stranger in ({"agent_id": "other"}, {"user_id": "ben"}):
        assert (await surface.call("list_memories", ANA | stranger)).content["memories"] == []
        assert (await surface.call("get_context", ANA | stranger | {"query": "green tea"})).content["text"] == ""
    for who, what in (("other", tea["id"]), ("assistant", str(uuid.uuid4()))):
        refused = await surface.call("delete_memory", {"agent_id": who, "memory_id": what})
        assert (refused.failed, refused.content["code"]) == (True, "not_found")
    assert await count(surface) == 1


async def test_text_stays_just_that_text(surface: Surface):
    for text in LOOKALIKES:
        assert (await store(surface, text))["content"] == text
        assert (await search(surface, text, alpha=1.0, top_k=50))[0]["content"] == text
    assert await count(surface) == len(LOOKALIKES)


async def test_awkward_ids_name_the_same_memory_everywhere(surface: Surface):
    who = {"agent_id": AWKWARD, "user_id": AWKWARD + "2"}
    stored = await store(surface, "tea", **who)
    assert [hit["id"] for hit in await search(surface, "tea", **who)] == [stored["id"]]
    assert await count(surface, **who) == 1
    assert not (await surface.call("delete_memory", {"agent_id": AWKWARD, "memory_id": stored["id"]})).failed


async def test_an_id_is_a_name_and_nothing_else(surface: Surface):
    await store(surface, "tea")
    for name in INJECTED:
        assert await search(surface, "tea", user_id=name) == await search(surface, "tea", agent_id=name) == []
        assert await count(surface, user_id=name) == 0


async def test_any_query_is_answered(surface: Surface):
    for query in QUERIES:
        await store(surface, f"before {query} after")
    for query in QUERIES:
        assert len(await search(surface, query, top_k=50)) == len(QUERIES)


WRONG: list[tuple[str, str, Any]] = [
    ("store_memory", "content", "a\0b"),
    ("store_memory", "content", ""),
    ("store_memory", "content", " \t\n"),
    ("store_memory", "content", "x" * 8001),
    ("store_memory", "agent_id", ""),
    ("store_memory", "user_id", "  "),
    ("store_memory", "importance", "much"),
    ("store_memory", "namespace", "x"),
    ("search_memories", "query", "a\0b"),
    ("search_memories", "query", 5),
    ("search_memories", "query", None),
    ("search_memories", "user_id", {"$ne": ""}),
    ("search_memories", "user_id", ["ana"]),
    ("search_memories", "top_k", 2.5),
    ("search_memories", "alpha", "abc"),
    ("search_memories", "user", "ana"),
    ("get_context", "query", "a\0b"),
    ("get_context", "query", None),
    ("get_context", "user_id", ["ana"]),
    ("get_context", "max_tokens", "many"),
    ("get_context", "budget", 100),
    ("list_memories", "agent_id", " "),
    ("list_memories", "user_id", ""),
    ("list_memories", "limit", "abc"),
    ("list_memories", "cursor", "a\0b"),
    ("list_memories", "created_after", "yesterday"),
    ("list_memories", "namespace", "x"),
    ("count_memories", "agent_id", "\t"),
    ("count_memories", "user_id", "u" * 129),
]


async def test_what_is_wrong_is_named_and_the_next_call_works(surface: Surface):
    await store(surface, "tea")
    asking = {"query": "x"}
    texts = {"store_memory": {"content": "x"}, "search_memories": asking, "get_context": asking}
    for name, field, value in WRONG:
        told = await surface.call(name, ANA | texts.get(name, {}) | {field: value})
        assert (told.failed, told.content["code"]) == (True, "invalid_request"), (name, field, value)
        assert re.match(rf"{field}: .+", told.text), told.text
        assert [problem["loc"][1] for problem in told.content["detail"]] == [field]
        assert not any(word in told.text for word in ("Traceback", "psycopg", "SELECT", "pydantic"))
        assert await count(surface) == 1


async def test_a_search_that_fails_does_not_look_empty(surface: Surface, encoder: FakeEncoder):
    await store(surface, "tea")
    encoder.failure = RuntimeError("secret")
    for name in ("search_memories", "get_context"):
        told = await surface.call(name, ANA | {"query": "coffee"})
        assert (told.failed, told.content["code"]) == (True, "encoder_failed")
        assert told.text == "The text could not be embedded. Nothing was stored; try again."
    encoder.failure = None
    assert len(await search(surface, "coffee")) == 1


async def test_calls_at_once_do_not_mix(surface: Surface):
    texts = [f"number {n}" for n in range(50)]
    stored = await asyncio.gather(*[store(surface, text, user_id=f"user-{n}") for n, text in enumerate(texts)])
    assert [memory["content"] for memory in stored] == texts
    found = await asyncio.gather(*[search(surface, "number", user_id=f"user-{n}") for n in range(50)])
    assert [[hit["content"] for hit in hits] for hits in found] == [[text] for text in texts]


class TestLimited:
    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(writes_per_minute=1, searches_per_minute=1)

    @pytest.mark.parametrize(
        ("name", "field", "noun"),
        [
            ("store_memory", "content", "Write"),
            ("search_memories", "query", "Search"),
            ("get_context", "query", "Search"),
        ],
    )
    async def test_the_limits_are_the_same(self, surface: Surface, name: str, field: str, noun: str):
        told = [await surface.call(name, ANA | {field: "tea"}) for _ in range(4)]  # a minute may end meanwhile
        refused = [answer for answer in told if answer.failed]
        assert len(refused) >= 2
        assert {answer.content["code"] for answer in refused} == {"rate_limited"}
        assert re.match(rf"{noun} rate limit exceeded \(\d+ (writes|searches) this minute\)\.", refused[0].text)
        assert not (await surface.call(name, ANA | {field: "tea", "agent_id": "other"})).failed


async def test_every_surface_answers_with_the_same_fields(service: Running):
    shapes: list[list[Any]] = []
    for name in SURFACES:
        async with open_surface(name, service) as surface:
            stored = await store(surface, "tea", user_id=name)
            (hit,) = await search(surface, "tea", user_id=name)
            counted = await surface.call("count_memories", ANA | {"user_id": name})
            missing = await surface.call("delete_memory", OWN | {"memory_id": str(uuid.uuid4())})
            listed = await surface.call("list_memories", ANA | {"user_id": name})
            packet = await surface.call("get_context", ANA | {"user_id": name, "query": "tea"})
            answers = (counted.content, missing.content, listed.content, packet.content)
            shapes.append([list(stored), list(hit), *map(list, answers)])
    assert shapes[0][0][:8] == FIRST_EIGHT
    assert shapes == [shapes[0]] * len(SURFACES)


async def test_without_a_database_nothing_looks_empty(run: Run, relay: Relay):
    async with run(relay.conninfo) as service:
        for name in SURFACES:
            async with open_surface(name, service) as surface:
                await store(surface, "tea")
                await relay.cut()
                asking = {"search_memories": {"query": "tea"}, "get_context": {"query": "tea"}}
                for tool, arguments in (*asking.items(), ("count_memories", {}), ("list_memories", {})):
                    told = await surface.call(tool, ANA | arguments)
                    assert (told.failed, told.content["code"]) == (True, "store_unavailable")
                    assert told.text == "The database does not answer. Nothing was acknowledged; try again."
                await relay.open()
                assert len(await search(surface, "tea")) == 1


async def test_calls_are_counted_and_timed_as_requests_are(service: Running):
    async with open_surface(SURFACES[1], service) as surface:
        await store(surface, "tea", user_id="secret")
        await search(surface, "tea", user_id="secret")
    text = (await service.client.get("/metrics")).text
    assert re.search(r'http_requests_total\{handler="/mcp",method="POST",status="2xx"\} \d', text)
    assert 'memex_memory_operations_total{operation="create"} 1.0' in text
    assert 'memex_memory_operations_total{operation="search"} 1.0' in text
    assert not [word for word in ("secret", "store_memory", "tea") if word in text]
