"""The same calls through every surface: REST, and MCP on both kinds of revision."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import httpx

from tests.behaviour.asking import ANA
from tests.fixtures.agents import REVISIONS, Answer, at_app
from tests.fixtures.app import Running

Json = dict[str, Any]

SURFACES = ("rest", *(f"mcp {revision}" for revision in REVISIONS))
ROUTES = {
    "store_memory": ("POST", "/v1/memories"),
    "search_memories": ("POST", "/v1/memories/search"),
    "get_context": ("POST", "/v1/context"),
    "list_memories": ("GET", "/v1/memories"),
    "get_memory": ("GET", "/v1/memories/{memory_id}"),
    "update_memory": ("PATCH", "/v1/memories/{memory_id}"),
    "delete_memory": ("DELETE", "/v1/memories/{memory_id}"),
    "count_memories": ("GET", "/v1/memories/count"),
}
"""The route that does what a tool does."""
DEFAULTS: dict[str, Json] = {"search_memories": {"top_k": 5, "alpha": 0.7}}
"""Where a tool's are not REST's."""


class Surface(Protocol):
    """Where tools are called by name."""

    async def call(self, name: str, arguments: Json) -> Answer:
        """What REST answers is the content; the text of a failure is the same everywhere."""


class Rest:
    """The routes under the names of the tools."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def call(self, name: str, arguments: Json) -> Answer:
        answer = await self._client.request(**routed(name, arguments))
        body: Any = answer.json() if answer.content else None
        if answer.status_code < 400:
            return Answer("", body, failed=False)
        detail = body["detail"]
        lines = detail if isinstance(detail, str) else "\n".join(f"{p['loc'][-1]}: {p['msg']}" for p in detail)
        return Answer(lines, body, failed=True)


def routed(name: str, given: Json) -> Json:
    """A call as httpx takes it, each argument where the route has it: an id in the path, a key in its header."""
    (method, path), body = ROUTES[name], DEFAULTS.get(name, {}) | given
    if "{memory_id}" in path:
        path = path.format(memory_id=quote(as_text(body.pop("memory_id", None)), safe=""))
    key = body.pop("idempotency_key", None)
    headers = {} if key is None else {"idempotency-key": as_text(key)}
    if method == "POST":
        return {"method": method, "url": path, "json": body, "headers": headers}
    query = {part: as_text(body.pop(part)) for part in list(body) if method != "PATCH" or part == "agent_id"}
    sent = {"json": body} if method == "PATCH" else {}
    return {"method": method, "url": f"{path}?{urlencode(query)}", "headers": headers} | sent


def as_text(value: Any) -> str:
    """As a client without types puts it into a query string, which has no null."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


@asynccontextmanager
async def open_surface(name: str, service: Running) -> AsyncIterator[Surface]:
    """One of SURFACES."""
    if name == "rest":
        yield Rest(service.client)
        return
    async with at_app(service.app, name.removeprefix("mcp ")) as agent:
        yield agent


def calls(memory_id: str) -> dict[str, Json]:
    """A call of every tool that works, all about one user; those about one memory are about this one of hers."""
    own = {"agent_id": ANA["agent_id"], "memory_id": memory_id}
    return {
        "store_memory": ANA | {"content": "coffee"},
        "search_memories": ANA | {"query": "tea"},
        "get_context": ANA | {"query": "tea"},
        "list_memories": {**ANA},
        "get_memory": {**own},
        "update_memory": own | {"importance": 1.0},
        "count_memories": {**ANA},
        "delete_memory": {**own},
    }


async def store(surface: Surface, content: str, **fields: Any) -> Json:
    """A memory stored for sure."""
    told = await surface.call("store_memory", ANA | {"content": content} | fields)
    assert not told.failed, told.text
    stored: Json = told.content
    return stored


async def search(surface: Surface, query: str, **fields: Any) -> list[Json]:
    """The hits of a search that succeeds."""
    told = await surface.call("search_memories", ANA | {"query": query} | fields)
    assert not told.failed, told.text
    assert (told.content["query"], told.content["total"]) == (query, len(told.content["results"]))
    found: list[Json] = told.content["results"]
    return found


async def count(surface: Surface, **fields: Any) -> int:
    """How many memories there are."""
    told = await surface.call("count_memories", ANA | fields)
    assert not told.failed, told.text
    number: int = told.content["count"]
    return number
