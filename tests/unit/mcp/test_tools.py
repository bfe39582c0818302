"""What each tool takes, asks of the service, and says."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import Server

from memex import errors
from memex.errors import MemexError, RateLimited
from memex.model import (
    Context,
    ContextQuery,
    Listing,
    ListQuery,
    MemoryChange,
    MemoryType,
    NewMemory,
    SearchQuery,
    SearchResult,
    Target,
)
from memex.service import scope
from tests.fixtures.agents import REVISIONS
from tests.oracles.contract import FIRST_EIGHT
from tests.unit.api.conftest import KNOWN, NOW, Backend
from tests.unit.mcp.calling import ANA, call
from tests.unit.mcp.conftest import serving

ASSISTANT: dict[str, Any] = dict(ANA)
OWN = {"agent_id": "assistant"}
BAD_TYPE = "Invalid memory_type 'x'. Must be one of: episodic, semantic, procedural."
EACH_CALL = [
    ("store_memory", ANA | {"content": "tea"}),
    ("search_memories", ANA | {"query": "tea"}),
    ("get_context", ANA | {"query": "tea"}),
    ("list_memories", ANA),
    ("get_memory", OWN | {"memory_id": str(KNOWN)}),
    ("update_memory", OWN | {"memory_id": str(KNOWN), "content": "coffee"}),
    ("delete_memory", OWN | {"memory_id": str(KNOWN)}),
    ("count_memories", ANA),
]


@pytest.mark.parametrize("mode", REVISIONS)
async def test_storing_says_what_was_stored(server: Server[Any], backend: Backend, mode: str):
    told = await call(server, "store_memory", ANA | {"content": "tea"}, mode)
    assert told.text == f"Stored memory {KNOWN} (type=episodic, importance=1.0)"
    assert (told.failed, told.content["id"], told.content["score"]) == (False, str(KNOWN), None)
    assert list(told.content)[:8] == FIRST_EIGHT
    assert backend.calls == [("add", "assistant", NewMemory(**ASSISTANT, content="tea"))]


@pytest.mark.parametrize(
    ("given", "kept"), [(-1, 0.0), (0, 0.0), (1, 1.0), (1.25, 1.25), ("1.5", 1.5), (7, 2.0), (2**63, 2.0), (None, 1.0)]
)
async def test_importance_is_moved_into_its_range(server: Server[Any], given: Any, kept: float):
    told = await call(server, "store_memory", ANA | {"content": "tea", "importance": given})
    assert told.text.endswith(f"importance={kept})")


@pytest.mark.parametrize("mode", REVISIONS)
async def test_searching_lists_the_hits(server: Server[Any], backend: Backend, mode: str):
    told = await call(server, "search_memories", ANA | {"query": "what tea"}, mode)
    assert told.text == f'Found 1 memory (query: "what tea"):\n\n1. [episodic] score=0.8731  id={KNOWN}\n   tea'
    assert (told.content["query"], told.content["total"]) == ("what tea", 1)
    assert told.content["results"][0]["score"] == 0.8731
    assert backend.calls == [("search", "assistant", SearchQuery(**ASSISTANT, query="what tea", top_k=5, alpha=0.7))]


async def test_several_hits_are_memories(server: Server[Any], backend: Backend, monkeypatch: pytest.MonkeyPatch):
    once = await backend.run(scope("assistant"), SearchQuery(**ASSISTANT, query="x"))
    hits = [once.results[0]] * 2

    async def run(*_: Any) -> SearchResult:
        return SearchResult(hits, "x", 2)

    monkeypatch.setattr(backend, "run", run)
    told = await call(server, "search_memories", ANA | {"query": "x"})
    line = f"[episodic] score=0.8731  id={KNOWN}\n   tea"
    assert told.text == f'Found 2 memories (query: "x"):\n\n1. {line}\n\n2. {line}'


async def test_nothing_found_is_said(server: Server[Any], backend: Backend, monkeypatch: pytest.MonkeyPatch):
    async def run(*_: Any) -> SearchResult:
        return SearchResult([], "it's", 0)

    monkeypatch.setattr(backend, "run", run)
    told = await call(server, "search_memories", ANA | {"query": "it's"})
    assert told.text == "No memories found for agent 'assistant' / user 'ana' matching 'it's'."
    assert (told.failed, told.content) == (False, {"results": [], "query": "it's", "total": 0})


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"top_k": 0, "alpha": -0.1}, {"top_k": 1, "alpha": 0.0}),
        ({"top_k": -(2**63), "alpha": -1e300}, {"top_k": 1, "alpha": 0.0}),
        ({"top_k": 10**30, "alpha": 1.5}, {"top_k": 50, "alpha": 1.0}),
        ({"top_k": "7", "alpha": "0.25"}, {"top_k": 7, "alpha": 0.25}),
        ({"top_k": 3.0, "alpha": True}, {"top_k": 3, "alpha": 1.0}),
        ({"top_k": None, "alpha": None, "memory_type": None}, {"top_k": 5, "alpha": 0.7}),
        ({"memory_type": "semantic"}, {"top_k": 5, "alpha": 0.7, "memory_type": MemoryType.SEMANTIC}),
    ],
)
async def test_a_search_is_moved_into_its_ranges(
    server: Server[Any], backend: Backend, given: dict[str, Any], asked: dict[str, Any]
):
    await call(server, "search_memories", ANA | {"query": "tea"} | given)
    assert backend.calls == [("search", "assistant", SearchQuery(**ASSISTANT, query="tea", **asked))]


@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_context_is_told_as_it_is(server: Server[Any], backend: Backend, mode: str):
    told = await call(server, "get_context", ANA | {"query": "what tea"}, mode)
    assert (told.text, told.failed) == ("Known:\n1. tea", False)
    packet = {"text": told.text, "ids": [str(KNOWN)], "tokens": 5, "total": 1, "left_out": 0, "truncated": False}
    assert told.content == packet
    assert backend.calls == [("context", "assistant", ContextQuery(**ASSISTANT, query="what tea", max_tokens=1000))]


@pytest.mark.parametrize(
    ("given", "asked"), [(0, 64), (-(2**63), 64), (10**30, 32_000), ("700", 700), (700.0, 700), (None, 1000)]
)
async def test_the_length_of_a_context_is_moved_into_its_range(
    server: Server[Any], backend: Backend, given: Any, asked: int
):
    await call(server, "get_context", ANA | {"query": "tea", "max_tokens": given})
    assert backend.calls == [("context", "assistant", ContextQuery(**ASSISTANT, query="tea", max_tokens=asked))]


async def test_a_context_of_nothing_is_told_as_a_search_that_finds_nothing(
    server: Server[Any], backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    async def nothing(*_: Any) -> Context:
        return Context("", [], 0, 0, 0, truncated=False)

    monkeypatch.setattr(backend, "context", nothing)
    told = await call(server, "get_context", ANA | {"query": "it's"})
    assert told.text == "No memories found for agent 'assistant' / user 'ana' matching 'it's'."
    assert (told.failed, told.content["text"], told.content["ids"]) == (False, "", [])


MORE = '\n\nThere are more: call again with cursor "abc".'


@pytest.mark.parametrize(
    ("total", "cursor", "head", "more"), [(1, None, "1 of 1 memory", ""), (9, "abc", "1 of 9 memories", MORE)]
)
async def test_a_list_says_how_much_there_is_and_how_to_go_on(
    server: Server[Any], backend: Backend, total: int, cursor: str | None, head: str, more: str
):
    backend.listing = Listing([backend.found(scope("assistant"), Target(KNOWN))], total, cursor)
    told = await call(server, "list_memories", ANA)
    assert told.text == f"{head}, the newest first:\n\n1. [episodic] created={NOW}  id={KNOWN}\n   tea{more}"
    assert (told.content["total"], told.content["next_cursor"]) == (total, cursor)
    assert list(told.content["memories"][0])[:8] == FIRST_EIGHT
    assert backend.calls == [("page", scope("assistant"), ListQuery(**ASSISTANT))]


async def test_an_empty_list_is_said(server: Server[Any]):
    told = await call(server, "list_memories", ANA)
    assert (told.text, told.failed) == ("No memories found for agent 'assistant' / user 'ana'.", False)
    assert told.content == {"memories": [], "total": 0, "next_cursor": None}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"limit": 0}, {"limit": 1}),
        ({"limit": 10**30}, {"limit": 100}),
        ({"limit": "7", "cursor": None}, {"limit": 7}),
        ({"created_after": "2026-01-31"}, {"created_after": datetime(2026, 1, 31, tzinfo=UTC)}),
        ({"created_before": 1_769_860_800}, {"created_before": datetime(2026, 1, 31, 12, tzinfo=UTC)}),
        ({"cursor": "abc"}, {"cursor": "abc"}),
    ],
)
async def test_a_list_is_asked_for_as_by_rest(
    server: Server[Any], backend: Backend, given: dict[str, Any], asked: dict[str, Any]
):
    await call(server, "list_memories", ANA | given)
    assert backend.calls == [("page", scope("assistant"), ListQuery(**ASSISTANT, **asked))]


async def test_what_a_service_finds_wrong_is_one_of_the_arguments(server: Server[Any], backend: Backend):
    backend.failure = errors.Invalid([errors.Problem("value_error", ("query", "cursor"), "no cursor", "x")])
    told = await call(server, "list_memories", ANA | {"cursor": "x"})
    assert (told.text, told.content["detail"][0]["loc"]) == ("cursor: no cursor", ["arguments", "cursor"])


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize("form", [str(KNOWN), KNOWN.hex, str(KNOWN).upper()])
async def test_deleting_names_the_id_as_it_was_given(server: Server[Any], backend: Backend, form: str, mode: str):
    told = await call(server, "delete_memory", OWN | {"memory_id": form}, mode)
    assert (told.text, told.failed) == (f"Deleted memory {form}.", False)
    assert told.content == {"id": str(KNOWN), "deleted": True}
    assert backend.calls == [("delete", "assistant", KNOWN, None)]


async def test_a_memory_that_is_not_there_is_not_deleted(server: Server[Any]):
    other = str(uuid.uuid4())
    told = await call(server, "delete_memory", OWN | {"memory_id": other})
    assert told.text == f"Memory {other} not found or does not belong to agent 'assistant'."
    assert (told.failed, told.content["code"], told.content["detail"]) == (True, "not_found", told.text)


@pytest.mark.parametrize("form", ["x", "", 5, "{" + str(KNOWN) + "}"])
async def test_what_is_no_id_is_said(server: Server[Any], backend: Backend, form: Any):
    told = await call(server, "delete_memory", OWN | {"memory_id": form})
    assert (told.text, told.failed) == (f"Invalid memory_id '{form}'. Must be a valid UUID.", True)
    assert backend.calls == []


@pytest.mark.parametrize("mode", REVISIONS)
async def test_one_memory_is_read_by_its_id(server: Server[Any], mode: str):
    told = await call(server, "get_memory", OWN | {"memory_id": str(KNOWN)}, mode)
    facts = f"[episodic] created={NOW} importance=1.0 state=active  id={KNOWN}"
    assert (told.text, told.failed) == (f"{facts}\n   tea", False)
    assert list(told.content)[:8] == FIRST_EIGHT


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"content": "coffee"}, MemoryChange(content="coffee")),
        ({"importance": 7}, MemoryChange(importance=2.0)),
        ({"content": None, "importance": "0.5"}, MemoryChange(importance=0.5)),
    ],
)
async def test_what_is_named_is_updated(
    server: Server[Any], backend: Backend, given: dict[str, Any], wanted: MemoryChange
):
    told = await call(server, "update_memory", OWN | {"memory_id": str(KNOWN)} | given)
    assert (told.text, told.failed) == (f"Updated memory {KNOWN} (version={told.content['version']}).", False)
    assert backend.calls[0][0] == "change"
    assert Target(KNOWN) in backend.calls[0]
    assert wanted in backend.calls[0]


@pytest.mark.parametrize("name", ["get_memory", "update_memory"])
async def test_what_is_not_there_is_neither_read_nor_updated(server: Server[Any], name: str):
    other = str(uuid.uuid4())
    changes = {"content": "x"} if name == "update_memory" else {}
    told = await call(server, name, OWN | {"memory_id": other} | changes)
    assert told.text == f"Memory {other} not found or does not belong to agent 'assistant'."
    assert (told.failed, told.content["code"]) == (True, "not_found")


@pytest.mark.parametrize(("number", "noun"), [(0, "memories"), (1, "memory"), (3, "memories")])
async def test_counting_says_how_many(
    server: Server[Any], backend: Backend, monkeypatch: pytest.MonkeyPatch, number: int, noun: str
):
    real = backend.count

    async def count(scope: Any, user_id: str) -> Any:
        found = await real(scope, user_id)
        return type(found)(found.agent_id, found.user_id, number)

    monkeypatch.setattr(backend, "count", count)
    told = await call(server, "count_memories", ANA)
    assert told.text == f"Agent 'assistant' / User 'ana' has {number} stored {noun}."
    assert told.content == ANA | {"count": number}


@pytest.mark.parametrize(("name", "arguments"), [EACH_CALL[0], EACH_CALL[1]])
async def test_a_wrong_type_is_said_in_the_words_of_the_reference(
    server: Server[Any], backend: Backend, name: str, arguments: dict[str, Any]
):
    told = await call(server, name, arguments | {"memory_type": "x"})
    assert (told.text, told.failed) == (BAD_TYPE, True)
    assert backend.calls == []


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize("text", ["00123", "1e5", "true", "null", "[1,2]", '{"a":1}', '"quoted"', "  x ", "\ufeff"])
async def test_text_that_looks_like_json_stays_text(server: Server[Any], backend: Backend, text: str, mode: str):
    told = await call(server, "store_memory", ANA | {"content": text}, mode)
    assert told.content["content"] == text
    await call(server, "search_memories", ANA | {"query": text}, mode)
    assert (backend.calls[0][2].content, backend.calls[1][2].query) == (text, text)


FAULTS = [
    ("store_memory", {}, ["agent_id: Field required", "user_id: Field required", "content: Field required"]),
    ("store_memory", ANA | {"content": "a\0b"}, ["content: Value error, text must not hold a NUL character"]),
    ("store_memory", ANA | {"content": " \t"}, ["content: Value error, text must not be blank"]),
    ("store_memory", ANA | {"content": ["tea"]}, ["content: Input should be a valid string"]),
    ("store_memory", ANA | {"content": "x" * 8001}, ["content: String should have at most 8000 characters"]),
    ("store_memory", ANA | {"content": "x", "importance": "high"}, ["importance: Input should be a valid number"]),
    ("store_memory", ANA | {"content": "x", "tags": ["a"]}, ["tags: Extra inputs are not permitted"]),
    ("search_memories", {}, ["agent_id: Field required", "user_id: Field required", "query: Field required"]),
    ("search_memories", ANA | {"query": None}, ["query: Input should be a valid string"]),
    ("search_memories", ANA | {"query": 5}, ["query: Input should be a valid string"]),
    ("search_memories", ANA | {"query": []}, ["query: Input should be a valid string"]),
    ("search_memories", ANA | {"query": "x" * 2**20}, ["query: String should have at most 2000 characters"]),
    ("search_memories", ANA | {"query": "x", "limit": 5}, ["limit: Extra inputs are not permitted"]),
    ("search_memories", ANA | {"query": "x", "top_k": 2.5}, ["top_k: Input should be a valid integer, got a number"]),
    ("search_memories", ANA | {"query": "x", "alpha": []}, ["alpha: Input should be a valid number"]),
    ("count_memories", {"agent_id": "", "user_id": "u" * 129}, ["agent_id: String should", "user_id: String should"]),
    ("get_context", {}, ["agent_id: Field required", "user_id: Field required", "query: Field required"]),
    ("get_context", ANA | {"query": "a\0b"}, ["query: Value error, text must not hold a NUL character"]),
    ("get_context", ANA | {"query": "x", "max_tokens": "many"}, ["max_tokens: Input should be a valid integer"]),
    ("get_context", ANA | {"query": "x", "top_k": 3}, ["top_k: Extra inputs are not permitted"]),
    ("list_memories", {}, ["agent_id: Field required", "user_id: Field required"]),
    ("list_memories", ANA | {"limit": 2.5, "cursor": ""}, ["limit: Input should be", "cursor: String should have"]),
    ("list_memories", ANA | {"created_after": "yesterday"}, ["created_after: Value error, a time is ISO 8601"]),
    ("list_memories", ANA | {"created_after": 2e9, "created_before": 1e9}, ["created_before: Value error, created_b"]),
    ("list_memories", ANA | {"query": "x"}, ["query: Extra inputs are not permitted"]),
    ("delete_memory", OWN, ["memory_id: Field required"]),
    ("get_memory", {}, ["agent_id: Field required", "memory_id: Field required"]),
    ("update_memory", OWN | {"memory_id": str(KNOWN)}, ["arguments: Value error, name at least one field to change"]),
    ("update_memory", {"content": " ", "x": 1}, ["agent_id: ", "memory_id: ", "content: ", "x: Extra"]),
]


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize(("name", "arguments", "lines"), FAULTS)
async def test_every_faulty_argument_is_named(
    server: Server[Any], backend: Backend, name: str, arguments: dict[str, Any], lines: list[str], mode: str
):
    told = await call(server, name, arguments, mode)
    assert told.failed
    said = told.text.splitlines()
    assert len(said) == len(lines)
    assert all(have.startswith(want) for have, want in zip(said, lines, strict=True)), said
    assert told.content["code"] == "invalid_request"
    assert [problem["loc"][0] for problem in told.content["detail"]] == ["arguments"] * len(lines)
    assert len(json.dumps(told.content)) < 2_000
    assert backend.calls == []


async def test_unknown_arguments_are_dropped_where_that_is_asked_for(backend: Backend):
    told = await call(serving(backend, lenient=True), "search_memories", ANA | {"query": "x", "limit": 5})
    assert not told.failed


@pytest.mark.parametrize(("name", "arguments"), EACH_CALL)
async def test_a_failure_is_never_an_empty_answer(
    server: Server[Any], backend: Backend, name: str, arguments: dict[str, Any]
):
    backend.failure = errors.StoreUnavailable()
    told = await call(server, name, arguments)
    assert (told.failed, told.text) == (True, "The database does not answer. Nothing was acknowledged; try again.")
    assert (told.content["code"], told.content["detail"]) == ("store_unavailable", told.text)
    backend.failure = None
    assert not (await call(server, name, arguments)).failed


@pytest.mark.parametrize("failure", [errors.StoreFault("SELECT secret"), RuntimeError("secret"), MemexError("secret")])
async def test_what_nobody_foresaw_is_told_to_the_log_alone(
    server: Server[Any], backend: Backend, failure: Exception, caplog: pytest.LogCaptureFixture
):
    backend.failure = failure
    told = await call(server, "count_memories", ANA)
    assert told.failed
    assert told.text == "Internal error. The log has the details under this request id."
    assert "secret" not in json.dumps(told.content)
    assert "secret" in caplog.text


async def test_a_rate_limit_is_told_in_the_words_of_rest(server: Server[Any], backend: Backend):
    backend.failure = RateLimited("Search rate limit exceeded (6 searches this minute).", limit=5, reset=18)
    told = await call(server, "search_memories", ANA | {"query": "x"})
    assert (told.text, told.content["code"]) == ("Search rate limit exceeded (6 searches this minute).", "rate_limited")


@pytest.mark.parametrize("mode", REVISIONS)
async def test_an_unknown_tool_is_refused_and_the_next_call_works(server: Server[Any], mode: str):
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError, match=r"^Unknown tool: forget$") as refused:
            await client.call_tool("forget", {})
        assert refused.value.code == -32602
        assert not (await client.call_tool("count_memories", ANA)).is_error
