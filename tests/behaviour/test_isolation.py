"""What a caller may do to others: nothing, whatever the request says."""

from typing import Any

import httpx
import pytest

from memex.model import Mode
from tests.behaviour.asking import ANA, ask, count, delete, locations, search, store, store_all

BEN = ANA | {"user_id": "ben"}


async def test_a_users_memories_go_without_those_of_another(rest: httpx.AsyncClient):
    for who in (ANA, BEN):
        await store_all(rest, [f"tea {n}" for n in range(3)], **who)
    for memory in await search(rest, "tea", **BEN):
        answer = await rest.delete(f"/v1/memories/{memory['id']}", params=ANA)
        assert answer.status_code == 404
    for memory in await search(rest, "tea", **ANA):
        await delete(rest, memory)
    assert (await count(rest, **ANA), await count(rest, **BEN)) == (0, 3)
    for mode in Mode:
        assert await search(rest, "tea", mode=mode, **ANA) == []
        assert len(await search(rest, "tea", mode=mode, **BEN)) == 3


async def test_user_and_agent_filter_together(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea", agent_id="helper", user_id="ana")
    for mode in Mode:
        (hit,) = await search(rest, "tea", mode=mode, agent_id="helper", user_id="ana")
        assert hit["id"] == memory["id"]
        assert await search(rest, "tea", mode=mode, agent_id="other", user_id="ana") == []
        assert await search(rest, "tea", mode=mode, agent_id="helper", user_id="ben") == []


STRUCTURED: tuple[Any, ...] = ({"$ne": ""}, ["ana"], {"like": "%"}, None, True, 5)
LITERAL = ("ana' OR '1'='1", '") or true or ("', "%", "*", "ana\\", "a%", "ANA", "ana ")


async def test_an_id_is_a_plain_text_and_nothing_in_it_is_read_as_more(rest: httpx.AsyncClient):
    await store(rest, "green tea", visibility="shared")
    for user in STRUCTURED:
        assert locations(await ask(rest, "tea", user_id=user)) == [["body", "user_id"]]
        if user is not None:
            assert locations(await ask(rest, "tea", filters={"session_id": user})) == [
                ["body", "filters", "session_id"]
            ]
            assert locations(await ask(rest, "tea", filters={"source": user})) == [["body", "filters", "source"]]
    for name in LITERAL:
        for mode in Mode:
            assert await search(rest, "tea", mode=mode, user_id=name) == []
            assert await search(rest, "tea", mode=mode, agent_id="other", agents=[name, "%", "_"]) == []
        assert await count(rest, user_id=name) == 0


@pytest.mark.parametrize("blank", ["", "  ", "\t", "\n"])
async def test_a_blank_id_is_refused_everywhere(rest: httpx.AsyncClient, blank: str):
    memory = await store(rest, "green tea")
    path = f"/v1/memories/{memory['id']}"
    for field in ("user_id", "agent_id"):
        who = ANA | {field: blank}
        assert locations(await ask(rest, "tea", **who)) == [["body", field]]
        assert locations(await ask(rest, "tea", agents=["other", blank])) == [["body", "agents", 1]]
        assert locations(await ask(rest, "tea", agents=blank)) == [["body", "agents"]]
        for name in ("session_id", "source"):
            assert locations(await ask(rest, "tea", filters={name: blank})) == [["body", "filters", name]]
        assert locations(await rest.post("/v1/memories", json={"content": "x"} | who)) == [["body", field]]
        assert locations(await rest.get("/v1/memories/count", params=who)) == [["query", field]]
        assert locations(await rest.delete(path, params=who)) == [["query", field]]
    assert await count(rest) == 1


@pytest.mark.parametrize(
    "name", ["namespace", "user", "dataset", "filter", "topk", "tags", "agent", "shared", "tenant"]
)
async def test_a_misspelt_filter_never_widens_a_search(rest: httpx.AsyncClient, name: str):
    assert locations(await ask(rest, "tea", **{name: "x"})) == [["body", name]]
    assert locations(await ask(rest, "tea", filters={name: ["x"]})) == [["body", "filters", name]]


async def test_a_zero_byte_is_told_with_its_field(rest: httpx.AsyncClient):
    assert locations(await ask(rest, "a\0b")) == [["body", "query"]]
    assert locations(await ask(rest, "tea", agents=["a\0"])) == [["body", "agents", 0]]
    for name, given in (("tags_any", ["a\0"]), ("tags_all", ["a\0"]), ("session_id", "a\0"), ("source", "\0")):
        assert locations(await ask(rest, "tea", filters={name: given}))[0][:3] == ["body", "filters", name]
    for condition in ({"k": "a\0"}, {"k\0": 1}, {"k": {"in": ["a\0"]}}):
        assert locations(await ask(rest, "tea", filters={"metadata": condition}))[0][:3] == [
            "body",
            "filters",
            "metadata",
        ]
    assert locations(await rest.get("/v1/memories/count", params=ANA | {"user_id": "a\0b"})) == [["query", "user_id"]]
    for field, value in (("external_id", "a\0"), ("tags", ["a\0"]), ("metadata", {"k": "a\0"}), ("source", "\0")):
        answer = await rest.post("/v1/memories", json=ANA | {"content": "x", field: value})
        assert locations(answer)[0][:2] == ["body", field]
    assert await count(rest) == 0
