"""The same calls through every surface: REST, and MCP on both kinds of revision."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx

from tests.fixtures.agents import REVISIONS, Answer, at_app
from tests.fixtures.app import Running

SURFACES = ("rest", *(f"mcp {revision}" for revision in REVISIONS))


class Surface(Protocol):
    """Where tools are called by name."""

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """What REST answers is the content; the text of a failure is the same everywhere."""


class Rest:
    """The routes under the names of the tools."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        answer = await getattr(self, name)(dict(arguments))
        body: Any = answer.json() if answer.content else None
        if answer.status_code < 400:
            return Answer("", body, failed=False)
        detail = body["detail"]
        lines = detail if isinstance(detail, str) else "\n".join(f"{p['loc'][-1]}: {p['msg']}" for p in detail)
        return Answer(lines, body, failed=True)

    async def store_memory(self, arguments: dict[str, Any]) -> httpx.Response:
        return await self._client.post("/v1/memories", json=arguments)

    async def search_memories(self, arguments: dict[str, Any]) -> httpx.Response:
        return await self._client.post("/v1/memories/search", json={"top_k": 5, "alpha": 0.7} | arguments)

    async def get_memory(self, arguments: dict[str, Any]) -> httpx.Response:
        memory_id = arguments.pop("memory_id")
        return await self._client.get(f"/v1/memories/{memory_id}", params=arguments)

    async def update_memory(self, arguments: dict[str, Any]) -> httpx.Response:
        memory_id, owner = arguments.pop("memory_id"), {"agent_id": arguments.pop("agent_id")}
        return await self._client.patch(f"/v1/memories/{memory_id}", params=owner, json=arguments)

    async def delete_memory(self, arguments: dict[str, Any]) -> httpx.Response:
        memory_id = arguments.pop("memory_id")
        return await self._client.delete(f"/v1/memories/{memory_id}", params=arguments)

    async def get_context(self, arguments: dict[str, Any]) -> httpx.Response:
        return await self._client.post("/v1/context", json=arguments)

    async def list_memories(self, arguments: dict[str, Any]) -> httpx.Response:
        return await self._client.get("/v1/memories", params=arguments)

    async def count_memories(self, arguments: dict[str, Any]) -> httpx.Response:
        return await self._client.get("/v1/memories/count", params=arguments)


@asynccontextmanager
async def open_surface(name: str, service: Running) -> AsyncIterator[Surface]:
    """One of SURFACES."""
    if name == "rest":
        yield Rest(service.client)
        return
    async with at_app(service.app, name.removeprefix("mcp ")) as agent:
        yield agent
