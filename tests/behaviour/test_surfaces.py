"""What must hold through every surface."""

import asyncio
import re
import uuid
from typing import Any

import pytest

from memex.mcp.tools import TOOLS
from memex.settings import Limits
from tests.behaviour.asking import ANA
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import ROUTES, SURFACES, Surface, count, open_surface, search, store
from tests.behaviour.test_rest import AWKWARD, QUERIES
from tests.fakes import FakeEncoder
from tests.fixtures.app import Run, Running
from tests.fixtures.relay import Relay
from tests.oracles.contract import FIRST_EIGHT
from tests.oracles.packets import plain, read

OWN = {"agent_id": "assistant"}
LOOKALIKES = ["00123", "1e5", "true", "null", "[1,2]", '{"a":1}', '"quoted"', "ünï 小明 😀", "a\u2028b", "\\u0000"]


def test_every_tool_has_its_route():
    assert set(ROUTES) == {tool.name for tool in TOOLS}


@proves("store.at-once")
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


@proves("update.at-once")
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


@proves("list.pages")
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


@proves("context.fits")
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


@proves("store.verbatim")
async def test_text_stays_just_that_text(surface: Surface):
    for text in LOOKALIKES:
        assert (await store(surface, text))["content"] == text
        assert (await search(surface, text, alpha=1.0, top_k=50))[0]["content"] == text
    assert await count(surface) == len(LOOKALIKES)


@proves("ids.awkward")
async def test_awkward_ids_name_the_same_memory_everywhere(surface: Surface):
    who = {"agent_id": AWKWARD, "user_id": AWKWARD + "2"}
    stored = await store(surface, "tea", **who)
    assert [hit["id"] for hit in await search(surface, "tea", **who)] == [stored["id"]]
    assert await count(surface, **who) == 1
    assert not (await surface.call("delete_memory", {"agent_id": AWKWARD, "memory_id": stored["id"]})).failed


@proves("search.any-query")
async def test_any_query_is_answered(surface: Surface):
    for query in QUERIES:
        await store(surface, f"before {query} after")
    for query in QUERIES:
        assert len(await search(surface, query, top_k=50)) == len(QUERIES)


@proves("failures.not-empty")
async def test_a_search_that_fails_does_not_look_empty(surface: Surface, encoder: FakeEncoder):
    await store(surface, "tea")
    encoder.failure = RuntimeError("secret")
    for name in ("search_memories", "get_context"):
        told = await surface.call(name, ANA | {"query": "coffee"})
        assert (told.failed, told.content["code"]) == (True, "encoder_failed")
        assert told.text == "The text could not be embedded. Nothing was stored; try again."
    encoder.failure = None
    assert len(await search(surface, "coffee")) == 1


@proves("answers.unmixed")
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

    @proves("limits.same")
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


@proves("answers.same-fields")
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


@proves("failures.not-empty")
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


@proves("metrics.counted")
async def test_calls_are_counted_and_timed_as_requests_are(service: Running):
    async with open_surface(SURFACES[1], service) as surface:
        await store(surface, "tea", user_id="secret")
        await search(surface, "tea", user_id="secret")
    text = (await service.client.get("/metrics")).text
    assert re.search(r'http_requests_total\{handler="/mcp",method="POST",status="2xx"\} \d', text)
    assert 'memex_memory_operations_total{operation="create"} 1.0' in text
    assert 'memex_memory_operations_total{operation="search"} 1.0' in text
    assert not [word for word in ("secret", "store_memory", "tea") if word in text]
