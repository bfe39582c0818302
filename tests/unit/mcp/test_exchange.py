"""MCP over HTTP without sessions, byte by byte."""

import asyncio
import gc
import json
from typing import Any

import pytest

from memex.mcp.exchange import Exchange
from tests.behaviour.manifest import proves
from tests.unit.api.conftest import Backend
from tests.unit.mcp.calling import ANA

CURRENT = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PROTOCOL, CLIENT, CAPABILITIES = (
    f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")
)
COUNT = {"name": "count_memories", "arguments": ANA}
COUNTED = "Agent 'assistant' / User 'ana' has 3 stored memories."


async def post(exchange: Exchange, message: Any, version: str | None = HANDSHAKE[2], **headers: str) -> tuple[int, Any]:
    """Status and decoded answer; a dict is one request, bytes are sent as they are."""
    raw = message if isinstance(message, bytes) else json.dumps(message).encode()
    named = {"mcp-protocol-version": version} if version else {}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    status, body = await exchange.answer([(n.encode(), v.encode()) for n, v in named.items()], raw)
    return status, json.loads(body) if body else None


def asks(method: str, params: Any = None, identity: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method} | ({} if params is None else {"params": params})


async def ask_now(exchange: Exchange, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
    """A request of the current revision."""
    meta = {PROTOCOL: CURRENT, CLIENT: {"name": "test", "version": "1"}, CAPABILITIES: {}}
    named = {"mcp_method": method} | ({"mcp_name": params["name"]} if params and "name" in params else {})
    return await post(exchange, asks(method, (params or {}) | {"_meta": meta}), CURRENT, **(named | headers))


async def test_no_request_needs_one_before_it(exchange: Exchange):
    for version in (None, *HANDSHAKE):
        status, answer = await post(exchange, asks("tools/call", COUNT), version)
        assert (status, answer["id"], answer["result"]["content"][0]["text"]) == (200, 1, COUNTED)
    status, answer = await ask_now(exchange, "tools/call", COUNT)
    assert (status, answer["result"]["content"][0]["text"]) == (200, COUNTED)


@pytest.mark.parametrize("asked", [*HANDSHAKE, "1999-01-01", "zzz"])
async def test_the_handshake_settles_on_a_revision(exchange: Exchange, asked: str):
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    status, answer = await post(exchange, asks("initialize", params), None)
    assert status == 200
    assert answer["result"]["protocolVersion"] == (asked if asked in HANDSHAKE else HANDSHAKE[-1])
    assert answer["result"]["serverInfo"]["name"] == "memex"
    assert "search_memories" in answer["result"]["instructions"]


async def test_the_current_revision_is_discovered(exchange: Exchange):
    status, answer = await ask_now(exchange, "server/discover")
    assert status == 200
    assert answer["result"]["supportedVersions"] == [CURRENT]
    assert answer["result"]["cacheScope"] == "public"


@proves("sessions.none")
async def test_a_session_of_another_process_or_before_a_restart_is_accepted(exchange: Exchange):
    for session in ("3f1c9a0e", "x" * 1000, "../../etc"):
        status, answer = await post(exchange, asks("tools/call", COUNT), mcp_session_id=session)
        assert (status, answer["result"]["isError"]) == (200, False)


@pytest.mark.parametrize("version", [HANDSHAKE[2], CURRENT])
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/other"])
async def test_a_notification_is_taken(exchange: Exchange, version: str, method: str):
    sent = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}
    assert await post(exchange, sent, version) == (202, None)


async def test_an_answer_of_the_client_is_taken(exchange: Exchange):
    assert await post(exchange, {"jsonrpc": "2.0", "id": 7, "result": {}}) == (202, None)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (b"[" * 100_000, -32700),
        (b"null", -32600),
        (b"5", -32600),
        (b"[]", -32600),
        (json.dumps([asks("ping")]).encode(), -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (json.dumps(asks("ping", identity=None)).encode(), -32600),
        (json.dumps(asks("ping", identity=True)).encode(), -32600),
        (json.dumps(asks("ping", identity=1.5)).encode(), -32600),
        (json.dumps(asks("ping", identity={})).encode(), -32600),
        (json.dumps(asks("ping", [1])).encode(), -32600),
        (json.dumps(asks("ping", "a\udfff")).encode(), -32600),
        (json.dumps(asks("ping") | {"\ud800": 1}).encode(), -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32600),
    ],
)
async def test_what_is_no_message_is_refused(exchange: Exchange, raw: bytes, code: int):
    status, answer = await post(exchange, raw)
    assert (status, answer["jsonrpc"], answer["id"], answer["error"]["code"]) == (400, "2.0", None, code)
    assert len(json.dumps(answer)) < 300
    assert (await post(exchange, asks("ping")))[1]["result"] == {}


@pytest.mark.parametrize("arguments", ["text", 5, [1], True])
async def test_arguments_that_are_no_object_are_refused(exchange: Exchange, backend: Backend, arguments: Any):
    asked = {"name": "count_memories", "arguments": arguments}
    status, answer = await post(exchange, asks("tools/call", asked))
    assert (status, answer["error"]["code"]) == (200, -32602)
    status, answer = await ask_now(exchange, "tools/call", asked)
    assert (status, answer["error"]["code"]) == (400, -32602)
    assert backend.calls == []


async def test_an_unknown_method_is_refused(exchange: Exchange):
    status, answer = await post(exchange, asks("memories/forget"))
    assert (status, answer["id"], answer["error"]["code"]) == (200, 1, -32601)
    status, answer = await ask_now(exchange, "memories/forget")
    assert (status, answer["id"], answer["error"]["code"]) == (404, 1, -32601)


@pytest.mark.parametrize("version", ["2027-01-01", "1999-01-01", ""])
async def test_an_unknown_revision_is_told_which_there_are(exchange: Exchange, version: str):
    meta = {PROTOCOL: version, CAPABILITIES: {}}
    named = {"mcp_method": "tools/list"}
    status, answer = await post(exchange, asks("tools/list", {"_meta": meta}), version or "none", **named)
    assert status == 400
    assert answer["error"]["code"] in (-32022, -32020)
    if version:
        assert answer["error"]["data"]["supported"] == [CURRENT]


@pytest.mark.parametrize(
    "headers", [{"mcp_method": "tools/list"}, {"mcp_name": "store_memory"}, {"mcp_method": "", "mcp_name": ""}]
)
async def test_headers_that_say_otherwise_than_the_body_are_refused(
    exchange: Exchange, backend: Backend, headers: dict[str, str]
):
    status, answer = await ask_now(exchange, "tools/call", COUNT, **headers)
    assert (status, answer["id"]) == (400, 1)
    assert "header does not match" in answer["error"]["message"]
    assert backend.calls == []


async def test_a_header_that_comes_twice_is_refused(exchange: Exchange):
    message = asks("tools/list", {"_meta": {PROTOCOL: CURRENT, CAPABILITIES: {}}})
    headers = [(b"mcp-protocol-version", CURRENT.encode()), *[(b"mcp-method", b"tools/list")] * 2]
    status, body = await exchange.answer(headers, json.dumps(message).encode())
    assert (status, "more than once" in body.decode()) == (400, True)


async def test_an_id_is_given_back_as_it_was(exchange: Exchange):
    for identity in ("", "a", "7", 0, -1, 2**53, "é\0", "\ud800"):
        status, answer = await post(exchange, asks("ping", identity=identity))
        assert (status, answer) == (200, {"jsonrpc": "2.0", "id": identity, "result": {}})


@proves("input.half-characters")
@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ('"content": "\\ud800"', "content: Value error, text must not hold an unpaired surrogate"),
        ('"content": "a\\u0000"', "content: Value error, text must not hold a NUL character"),
        ('"content": "x", "importance": NaN', "importance: Input should be a finite number"),
        ('"content": "x", "importance": 1e999', "importance: Input should be a finite number"),
        ('"content": "x", "importance": ' + "9" * 5000, "importance: Input should be a finite number"),
        ('"content": "x", "memory_type": "\\ud800"', "Invalid memory_type '\\ud800'. Must be one of: "),
        ('"content": "x", "\\ud800": 1', "\\ud800: Extra inputs are not permitted"),
    ],
)
async def test_what_json_can_hold_and_memex_cannot_is_named(
    exchange: Exchange, backend: Backend, argument: str, line: str
):
    arguments = '{"agent_id": "a", "user_id": "u", ' + argument + "}"
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"store_memory","arguments":{arguments}}}}}'
    status, answer = await post(exchange, raw.encode())
    assert (status, answer["result"]["isError"]) == (200, True)
    assert answer["result"]["content"][0]["text"].startswith(line)
    assert backend.calls == []


async def test_calls_at_once_do_not_mix(exchange: Exchange):
    users = [f"user-{number}" for number in range(200)]
    calls = [asks("tools/call", COUNT | {"arguments": ANA | {"user_id": user}}, 7) for user in users]
    answers = await asyncio.gather(*[post(exchange, call) for call in calls])
    assert [answer["result"]["structuredContent"]["user_id"] for _, answer in answers] == users


async def test_nothing_is_kept_of_a_call(exchange: Exchange, backend: Backend):
    async def calls(number: int) -> int:
        for _ in range(number):
            await post(exchange, asks("tools/call", COUNT))
            await ask_now(exchange, "tools/call", COUNT)
            await asyncio.sleep(0)  # the loop drops timers that were called off
        backend.calls.clear()
        gc.collect()
        return len(gc.get_objects())

    first, later = await calls(100), await calls(400)
    assert later - first < 100
