"""The tools through each door that users have, by the official client: stdio, a door of their own, and that of REST."""

import json
import re
import socket
import tomllib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import httpx
import pytest

from tests.behaviour.manifest import proves
from tests.fixtures.agents import HANDSHAKE, REVISIONS, Agent, at_stdio, at_url
from tests.fixtures.process import Process, run
from tests.fixtures.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]

ANA = {"agent_id": "assistant", "user_id": "ana"}
ALONE = ("mcp", "--transport", "http")
TEXTS = ["小明 prefers Java ü", "00123", '{"a":1}', "a\u2028b\u0085c", "😀"]


async def converse(agent: Agent) -> None:
    """What an agent does with its tools."""
    found = await agent.client.list_tools()
    assert {tool.name for tool in found.tools} >= {"store_memory", "search_memories", "delete_memory", "count_memories"}
    before = (await agent.call("count_memories", ANA)).content["count"]
    ids = [(await agent.call("store_memory", ANA | {"content": text})).content["id"] for text in TEXTS]
    for identity, text in zip(ids, TEXTS, strict=True):
        told = await agent.call("search_memories", ANA | {"query": text, "alpha": 1, "top_k": 50})
        (hit,) = [hit for hit in told.content["results"] if hit["id"] == identity]
        assert hit["content"] == text
        assert text in told.text
    wrong = await agent.call("search_memories", ANA | {"query": "a\0b"})
    assert (wrong.failed, wrong.text) == (True, "query: Value error, text must not hold a NUL character")
    for identity in ids:
        assert (await agent.call("delete_memory", {"agent_id": "assistant", "memory_id": identity})).text == (
            f"Deleted memory {identity}."
        )
    assert (await agent.call("count_memories", ANA)).content["count"] == before


@pytest.mark.parametrize("mode", REVISIONS)
async def test_over_stdio_whatever_the_locale(home: Path, mode: str):
    async with at_stdio(home, mode, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0") as agent:
        await converse(agent)


async def test_the_configurations_of_the_readme_start_it(home: Path):
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(\{\"mcpServers.+?)^```$", page, re.DOTALL | re.MULTILINE)
    (codex,) = re.findall(r"^```toml\n(\[mcp_servers.+?)^```$", page, re.DOTALL | re.MULTILINE)
    servers = json.loads(shown)["mcpServers"]
    assert tomllib.loads(codex)["mcp_servers"] == servers
    assert servers == {"memex": {"command": "memex", "args": ["mcp"]}}
    async with at_stdio(home, HANDSHAKE, *servers["memex"]["args"]) as agent:
        assert agent.client.server_info is not None
        assert agent.client.server_info.name == "memex"


@pytest.mark.parametrize("mode", REVISIONS)
async def test_over_http_at_each_door_and_beside_one_another(serve: Serve, home: Path, mode: str):
    served, alone = serve(), serve(command=ALONE)
    served.ready()
    alone.ready()
    doors: list[AbstractAsyncContextManager[Agent]] = [
        at_url(f"{served.url}/mcp", mode),
        at_url(f"{served.url}/mcp/", mode),
        at_url(f"{alone.url}/mcp/", mode),
        at_url(f"{alone.url}/mcp", mode),
        at_stdio(home, mode),
    ]
    for number, entered in enumerate(doors):
        async with entered as agent:
            await converse(agent)
            stored = await agent.call("store_memory", ANA | {"content": f"number {number}"})
            assert not stored.failed
    async with httpx.AsyncClient(timeout=PATIENCE) as rest:
        answer = await rest.get(f"{served.url}/v1/memories/count", params=ANA)
        assert answer.json()["count"] == len(doors)
        answer = await rest.get(f"{alone.url}/v1/memories/count", params=ANA)
        assert (answer.status_code, answer.json()["detail"]) == (
            404,
            "No such route. The tools for agents are at /mcp.",
        )
    assert (alone.stop(), served.stop()) == (0, 0)


def test_the_door_of_its_own_is_at_8001_unless_it_is_told_otherwise(home: Path):
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # taken by somebody else it is as good
            holder.bind(("127.0.0.1", 8001))
            holder.listen()
        command = run(*ALONE, "--data-dir", str(home))
        output = command.communicate(timeout=PATIENCE)[0]
    assert command.returncode == 1, output
    assert re.search(r"^memex: .*\b8001\b.*--port", output, re.MULTILINE)


@proves("sessions.none")
async def test_the_door_of_its_own_needs_no_other_and_outlives_a_restart(serve: Serve):
    first = serve(command=ALONE).ready()
    async with at_url(f"{first.url}/mcp/", HANDSHAKE) as agent:
        await agent.call("store_memory", ANA | {"content": "tea"})
        assert first.stop() == 0
        again = serve("--port", str(first.port), command=ALONE)
        again.url = first.url
        again.ready()
        assert (await agent.call("count_memories", ANA)).content["count"] == 1
    assert again.stop() == 0


@proves("sessions.none")
def test_a_session_of_before_a_restart_still_works_in_every_worker(serve: Serve):
    served = serve("--workers", "2").ready()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count_memories", "arguments": ANA}}
    with served.client(headers={"mcp-session-id": "of-another-process", "accept": "application/json"}) as client:
        for _ in range(20):
            answer = client.post("/mcp", json=call, headers={"connection": "close"})
            assert answer.json()["result"]["structuredContent"]["count"] == 0
            assert "mcp-session-id" not in answer.headers
        for method in ("GET", "DELETE"):
            assert client.request(method, "/mcp").status_code == 405
        assert client.post("/mcp", json=call, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post("/mcp", json=call, headers={"host": "evil.example"}).status_code == 403
        assert client.post("/mcp", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
        told = client.post("/mcp", json=call, headers={"x-request-id": "abc"})
        assert told.headers["x-request-id"] == "abc"
    assert served.stop() == 0
