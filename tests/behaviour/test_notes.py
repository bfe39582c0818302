"""/api/memories: the short form for scripts."""

from typing import Any

import httpx
import pytest

from tests.behaviour.asking import ANA, count, locations, store

AGENT = {"agent_id": "shared-agent"}
PATH = "/api/memories"


async def note(rest: httpx.AsyncClient, content: str, **fields: Any) -> dict[str, Any]:
    """A memory stored for sure."""
    answer = await rest.post(PATH, json=AGENT | {"content": content} | fields)
    assert answer.status_code == 201, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


@pytest.mark.parametrize(
    ("metadata", "importance"),
    [
        ({"importance": "low"}, 0.5),
        ({"importance": "medium"}, 1.0),
        ({"importance": "high", "source": "conversation"}, 1.5),
        ({"importance": "HIGH"}, 1.0),
        ({"importance": 2}, 1.0),
        ({"importance": ["high"]}, 1.0),
        ({"importance": None}, 1.0),
        ({}, 1.0),
    ],
)
async def test_a_word_in_the_metadata_is_the_importance(
    rest: httpx.AsyncClient, metadata: dict[str, Any], importance: float
):
    stored = await note(rest, "tea", timestamp=1_714_557_600, metadata=metadata)
    assert (stored["importance"], stored["metadata"]) == (importance, metadata)
    assert (stored["user_id"], stored["created_at"]) == ("default", "2024-05-01T10:00:00.000000Z")


async def test_a_number_goes_before_the_word(rest: httpx.AsyncClient):
    assert (await note(rest, "tea", importance=0.25, metadata={"importance": "high"}))["importance"] == 0.25


async def test_list_and_search_answer_bare_lists(rest: httpx.AsyncClient):
    stored = [await note(rest, content, timestamp=at) for at, content in enumerate(("green tea", "red wine", "tea"))]
    listed = (await rest.get(PATH, params=AGENT | {"limit": 2})).json()
    assert listed == stored[:0:-1]
    found = (await rest.get(f"{PATH}/search", params=AGENT | {"query": "green tea", "top_k": 1})).json()
    assert [hit["id"] for hit in found] == [stored[0]["id"]]
    assert found[0]["score"] > 0


async def test_users_are_apart(rest: httpx.AsyncClient):
    await note(rest, "tea", user_id="ana")
    assert (await rest.get(PATH, params=AGENT)).json() == []
    assert len((await rest.get(PATH, params=AGENT | {"user_id": "ana"})).json()) == 1
    assert (await rest.get(f"{PATH}/search", params=AGENT | {"query": "tea"})).json() == []


async def test_a_delete_needs_no_agent_and_keeps_to_one_that_is_named(rest: httpx.AsyncClient):
    memory, other = await store(rest, "tea"), await note(rest, "wine")
    for wrong in ({"agent_id": "nobody"}, {"user_id": "ben"}, AGENT):
        assert (await rest.delete(f"{PATH}/{memory['id']}", params=wrong)).status_code == 404
    done = await rest.delete(f"{PATH}/{memory['id']}")
    assert (done.status_code, done.json()) == (200, {"id": memory["id"], "deleted": True})
    assert (await rest.delete(f"{PATH}/{memory['id']}")).status_code == 404
    assert (await rest.delete(f"{PATH}/{other['id']}", params=AGENT)).status_code == 200
    assert await count(rest, **ANA) == 0


async def test_health_has_two_addresses(rest: httpx.AsyncClient):
    found = [(await rest.get(path)).json() for path in ("/health", "/api/health", "/api/health/")]
    assert found[0]["status"] == "ok"
    assert found == [found[0]] * 3


@pytest.mark.parametrize(
    ("method", "path", "sent", "at"),
    [
        ("GET", "", {}, "agent_id"),
        ("GET", "", AGENT | {"limit": "-1"}, "limit"),
        ("GET", "", AGENT | {"limit": "101"}, "limit"),
        ("GET", "/search", AGENT, "query"),
        ("GET", "/search", AGENT | {"query": "x", "top_k": "0"}, "top_k"),
        ("GET", "/search", AGENT | {"query": "a\0"}, "query"),
        ("DELETE", "/x", {}, "memory_id"),
        ("DELETE", "/x", {"agent_id": " "}, "agent_id"),
    ],
)
async def test_a_fault_is_named(rest: httpx.AsyncClient, method: str, path: str, sent: dict[str, str], at: str):
    assert at in [loc[-1] for loc in locations(await rest.request(method, PATH + path, params=sent))]


@pytest.mark.parametrize("fault", ['"content": ""', '"metadata": {"k": NaN}', '"importence": 1', '"timestamp": "x"'])
async def test_a_faulty_note_is_refused(rest: httpx.AsyncClient, fault: str):
    body = f'{{"agent_id": "a", "content": "tea", {fault}}}'
    answer = await rest.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert locations(answer)[0][1] in fault
