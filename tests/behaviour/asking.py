"""The calls of a client, with what a test does not care about filled in."""

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

import httpx

ANA = {"agent_id": "assistant", "user_id": "ana"}


async def store(rest: httpx.AsyncClient, content: str, **fields: Any) -> dict[str, Any]:
    """A memory stored for sure."""
    answer = await rest.post("/v1/memories", json=ANA | {"content": content} | fields)
    assert answer.status_code == 201, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


async def store_all(rest: httpx.AsyncClient, contents: Iterable[str], **fields: Any) -> list[dict[str, Any]]:
    """Many memories of one kind, as many at once as the service is glad to take."""
    queue, stored = iter(contents), list[dict[str, Any]]()
    while batch := list(itertools.islice(queue, 100)):
        stored += await asyncio.gather(*[store(rest, content, **fields) for content in batch])
    return stored


async def ask(rest: httpx.AsyncClient, query: str, **fields: Any) -> httpx.Response:
    """A search, however it is answered."""
    return await rest.post("/v1/memories/search", json=ANA | {"query": query} | fields)


async def search(rest: httpx.AsyncClient, query: str, **fields: Any) -> list[dict[str, Any]]:
    """The hits of a search that succeeds."""
    answer = await ask(rest, query, **fields)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["query"], body["total"]) == (query, len(body["results"]))
    found: list[dict[str, Any]] = body["results"]
    return found


async def texts(rest: httpx.AsyncClient, query: str, **fields: Any) -> list[str]:
    """The contents of the hits, best first."""
    return [hit["content"] for hit in await search(rest, query, **fields)]


async def delete(rest: httpx.AsyncClient, memory: dict[str, Any]) -> None:
    """A memory deleted for sure."""
    answer = await rest.delete(f"/v1/memories/{memory['id']}", params={"agent_id": memory["agent_id"]})
    assert answer.status_code == 204, answer.text


async def change(rest: httpx.AsyncClient, memory: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A memory changed for sure."""
    answer = await rest.patch(f"/v1/memories/{memory['id']}", params={"agent_id": memory["agent_id"]}, json=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def move(rest: httpx.AsyncClient, memory: dict[str, Any], verb: str) -> dict[str, Any]:
    """A memory archived or restored for sure."""
    answer = await rest.post(f"/v1/memories/{memory['id']}/{verb}", params={"agent_id": memory["agent_id"]})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def count(rest: httpx.AsyncClient, **fields: Any) -> int:
    """How many memories there are."""
    answer = await rest.get("/v1/memories/count", params=ANA | fields)
    assert answer.status_code == 200, answer.text
    number: int = answer.json()["count"]
    return number


def locations(answer: httpx.Response) -> list[list[Any]]:
    """Where the faults of a refused request are."""
    assert answer.status_code == 422, answer.text
    return [problem["loc"] for problem in answer.json()["detail"]]
