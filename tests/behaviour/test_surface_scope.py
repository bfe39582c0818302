"""Whose memories a call reaches, through every surface: the agent's own of the user that it names."""

import json
from typing import Any

import httpx
import psycopg

from memex.model import Space
from tests.behaviour import asking
from tests.behaviour.asking import ANA
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import Json, Surface, calls, count, search, store
from tests.fixtures.agents import Answer

SECRET = "Ana hides the green tea"
STRANGERS: tuple[dict[str, str], ...] = (
    {"agent_id": "other"},
    {"user_id": "ben"},
    {"agent_id": "other", "user_id": "ben"},
)
LITERAL = ["' OR '1'='1", "ana' OR '1'='1", '") or true or ("', "%", "_na", "*", "ana%00", "{}", "ANA", "ana ", "ana\\"]
SPELLINGS = ("namespace", "namespaces", "dataset", "user", "users", "tenant", "tenant_id", "owner", "team", "scope")
READING = ("search_memories", "get_context", "list_memories", "count_memories", "get_memory")


def as_stranger(name: str, call: Json, stranger: dict[str, str]) -> Json | None:
    """The call by somebody else; None where that is the same caller, since an id alone says of which user it is."""
    changed = {field: value for field, value in stranger.items() if field in call}
    return call | changed if changed else None


def is_empty(told: Answer) -> bool:
    """Whether nothing of anybody's was reached."""
    if told.failed:
        return told.content["code"] in ("not_found", "invalid_request")
    found = told.content.get("total", told.content.get("count", 0))
    return found == 0 and SECRET not in json.dumps(told.content)


@proves("scope.own-alone")
async def test_no_tool_reaches_what_is_anothers(surface: Surface, rest: httpx.AsyncClient):
    for visibility in ("private", "shared"):
        memory = await asking.store(rest, SECRET, visibility=visibility)
        for stranger in STRANGERS:
            for name, call in calls(memory["id"]).items():
                asked = as_stranger(name, call, stranger)
                if asked and name != "store_memory":
                    told = await surface.call(name, asked)
                    assert is_empty(told), (name, stranger, told)
            assert (await store(surface, SECRET, **stranger))["duplicate_of"] is None
            gone = await rest.post("/v1/memories/delete", json=ANA | stranger)
            assert gone.json()["deleted"] == 1, "what the stranger stored is the stranger's"
        assert (await surface.call("get_memory", calls(memory["id"])["get_memory"])).content == memory
        await asking.delete(rest, memory)


@proves("scope.tenant")
async def test_no_tool_reaches_another_tenant(surface: Surface, database: str):
    memory = await store(surface, SECRET)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(
            "UPDATE memex.spaces SET tenant_id = 'elsewhere' WHERE space_key = %s", [Space("default", "ana").key]
        )
    for name, call in calls(memory["id"]).items():
        told = await surface.call(name, call)
        assert is_empty(told) or (told.failed and name == "store_memory"), (name, told)


@proves("scope.names")
async def test_an_id_is_a_name_and_nothing_else(surface: Surface):
    memory = await store(surface, SECRET)
    structured: tuple[Any, ...] = ({"$ne": ""}, {"like": "%"}, ["ana"], ["ana", "assistant"], {"user_id": "ana"}, None)
    for name, call in calls(memory["id"]).items():
        for field in ("agent_id", "user_id"):
            for value in (*LITERAL, *structured):
                if field in call and not (name == "store_memory" and value in LITERAL):
                    told = await surface.call(name, call | {field: value})
                    assert is_empty(told), (name, field, value, told)
    assert await count(surface) == 1


@proves("scope.spelling")
async def test_a_scope_under_another_name_is_refused(surface: Surface):
    memory = await store(surface, SECRET)
    for name, call in calls(memory["id"]).items():
        for spelling in SPELLINGS:
            told = await surface.call(name, call | {spelling: "ben"})
            assert (told.failed, told.content["code"]) == (True, "invalid_request"), (name, spelling)
            assert spelling in told.text
    assert await count(surface) == 1


@proves("scope.elsewhere")
async def test_a_scope_is_nowhere_but_in_its_place(rest: httpx.AsyncClient):
    await asking.store(rest, SECRET)
    elsewhere = {"x-user-id": "ana", "x-agent-id": "assistant", "user_id": "ana", "x-tenant-id": "default"}
    for path in ("/v1/memories/search", "/v1/context"):
        body = {"agent_id": "assistant", "user_id": "ben", "query": "tea"}
        for request in ({"headers": elsewhere}, {"params": {"user_id": "ana", "agents": "*"}}):
            answer = await rest.post(path, json=body, **request)  # type: ignore[arg-type]
            assert (answer.status_code, answer.json()["total"]) == (200, 0)
            assert SECRET not in answer.text
        missing = await rest.post(path, json={"agent_id": "assistant", "query": "tea"}, params={"user_id": "ana"})
        assert asking.locations(missing) == [["body", "user_id"]]


@proves("scope.every-part")
async def test_no_part_of_an_answer_depends_on_what_others_keep_to_themselves(
    surface: Surface, rest: httpx.AsyncClient
):
    memory = await store(surface, "Ana drinks green tea")
    await store(surface, "Ana drinks green tea")
    asked = calls(memory["id"])
    asked["search_memories"] |= {"alpha": 1.0, "top_k": 50}
    before = [await surface.call(name, asked[name]) for name in READING]
    for stranger in STRANGERS:
        texts = ["Ana drinks green tea", SECRET, *(f"green {'tea ' * n}" for n in range(1, 20))]
        await asking.store_all(rest, texts, **stranger)
        await asking.search(rest, "tea", **stranger)
    assert [await surface.call(name, asked[name]) for name in READING] == before


@proves("scope.own-alone")
async def test_memories_of_two_agents_and_users_do_not_mix(surface: Surface):
    """Conditions on both hold together."""
    owners = [{"agent_id": agent, "user_id": user} for agent in ("a", "b") for user in ("u", "v")]
    for owner in owners:
        await store(surface, f"tea of {owner['agent_id']} and {owner['user_id']}", **owner)
    for owner in owners:
        (hit,) = await search(surface, "tea", **owner)
        assert hit["content"] == f"tea of {owner['agent_id']} and {owner['user_id']}"
        assert await count(surface, **owner) == 1
