"""The calls of a client that changes memories and reads what they were."""

from typing import Any

import httpx

OWN = {"agent_id": "assistant"}


async def patch(rest: httpx.AsyncClient, memory: dict[str, Any], *, match: str = "", **fields: Any) -> httpx.Response:
    """A change, however it is answered."""
    headers = {"If-Match": match} if match else {}
    return await rest.patch(f"/v1/memories/{memory['id']}", params=OWN, json=fields, headers=headers)


async def changed(rest: httpx.AsyncClient, memory: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A memory changed for sure."""
    answer = await patch(rest, memory, **fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{found["version"]}"'
    return found


async def move(rest: httpx.AsyncClient, memory: dict[str, Any], verb: str) -> dict[str, Any]:
    """A memory archived or restored for sure."""
    answer = await rest.post(f"/v1/memories/{memory['id']}/{verb}", params=OWN)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{found["version"]}"'
    return found


async def read(rest: httpx.AsyncClient, memory: dict[str, Any], **params: Any) -> dict[str, Any]:
    """A memory read for sure."""
    answer = await rest.get(f"/v1/memories/{memory['id']}", params=OWN | params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def history(rest: httpx.AsyncClient, memory: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    """All versions, newest first."""
    answer = await rest.get(f"/v1/memories/{memory['id']}/history", params=OWN | params)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["memory_id"], body["total"]) == (memory["id"], len(body["versions"]))
    found: list[dict[str, Any]] = body["versions"]
    return found
