"""Whose memories a caller reaches, by every route: its own, what agents of the same user share, and nothing else."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Mode, Space
from memex.settings import Index
from tests.behaviour.asking import ANA, change, count, search, store, store_all
from tests.behaviour.doors import DOORS, Door
from tests.behaviour.manifest import proves
from tests.fixtures.app import Run, Running

OTHER = ANA | {"agent_id": "other"}
BEN = ANA | {"user_id": "ben"}
CASES = [pytest.param(door, id=f"{route} {name}") for route, doors in DOORS.items() for name, door in doors.items()]
READING = (
    "search_memories",
    "get_context",
    "count_memories",
    "stats",
    "read_memory",
    "list_memories",
    "memory_history",
)
STRANGER = ANA | {"agent_id": "stranger"}
TEXT: dict[str, Any] = {"content": "Ana drinks green tea.", "external_id": "x-1", "tags": ["t"], "metadata": {"k": 1}}


async def test_every_route_of_memories_is_in_the_table(rest: httpx.AsyncClient):
    described = (await rest.get("/openapi.json")).json()["paths"]
    routes = {
        entry["operationId"] for path in described.values() for entry in path.values() if "memories" in entry["tags"]
    }
    assert routes == set(DOORS)


@proves("scope.sharing")
@pytest.mark.parametrize("visibility", ["private", "shared"])
@pytest.mark.parametrize("door", CASES)
async def test_a_route_lets_through_what_it_may(rest: httpx.AsyncClient, door: Door, visibility: str):
    memory = await store(rest, **TEXT, visibility=visibility)
    assert memory["visibility"] == visibility
    if door.of_user:
        assert not await door.reach(rest, memory, BEN)
    assert not await door.reach(rest, memory, {"agent_id": "other", "user_id": "ben"})
    assert await door.reach(rest, memory, OTHER) is (door.shared and visibility == "shared")
    assert await door.reach(rest, memory, ANA)


@pytest.mark.parametrize("door", CASES)
async def test_no_route_reaches_another_tenant_even_if_its_space_has_the_same_key(run: Run, database: str, door: Door):
    async with run() as service:
        memory = await store(service.client, **TEXT, visibility="shared")
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            await connection.execute(
                "UPDATE memex.spaces SET tenant_id = 'elsewhere' WHERE space_key = %s", [Space("default", "ana").key]
            )
        for who in (ANA, OTHER):
            assert not await door.reach(service.client, memory, who)


async def told(rest: httpx.AsyncClient, who: dict[str, str]) -> list[list[dict[str, Any]]]:
    """All that searches of several kinds tell, but for what time changes."""
    answers = []
    for mode in ("hybrid", "semantic", "keyword"):
        for agents in (None, "*", ["assistant"]):
            for filters in (None, {"tags_any": ["t"]}, {"metadata": {"k": {"exists": True}}}):
                asked = {"mode": mode, "agents": agents, "filters": filters, "explain": True, "alpha": 1, "top_k": 50}
                hits = await search(rest, "green tea", **who, **asked)
                answers.append([hit | {"explain": hit["explain"] | {"recency": 0}} for hit in hits])
    return answers


async def test_nothing_private_shows_in_statistics_copies_or_scores(rest: httpx.AsyncClient):
    """Whatever others keep to themselves, an answer is to the byte what it was without."""
    await store(rest, "Ana drinks green tea.", **OTHER, tags=["t"], metadata={"k": 1})
    await store(rest, "green tea and a green cup", visibility="shared", tags=["t"], metadata={"k": 2})
    before = await told(rest, OTHER)
    assert any(hit["agent_id"] == "assistant" for hits in before for hit in hits)
    secrets = ["Ana drinks green tea.", "green tea and a green cup", *(f"green {'tea ' * n}" for n in range(1, 40))]
    private = await store_all(rest, secrets, tags=["t"], metadata={"k": 1})
    await store_all(rest, secrets, **BEN, visibility="shared", tags=["t"], metadata={"k": 1})
    assert await told(rest, OTHER) == before
    assert private[1]["duplicate_of"] is not None


async def test_what_a_shared_memory_says_of_private_ones_is_hidden(rest: httpx.AsyncClient):
    secret = await store(rest, "green tea")
    shared = await store(rest, "green tea", visibility="shared")
    assert shared["duplicate_of"] == secret["id"]
    (own,) = await search(rest, "green tea")
    (seen,) = await search(rest, "green tea", **OTHER, agents="*")
    assert (own["duplicates"], seen["duplicates"]) == (1, 0)
    assert (seen["id"], seen["duplicate_of"], seen["superseded_by"]) == (shared["id"], None, None)


async def test_one_text_of_several_agents_is_one_hit_with_the_copies_that_may_be_seen(rest: httpx.AsyncClient):
    for agent, visibility in (("a", "private"), ("b", "shared"), ("c", "private"), ("d", "shared")):
        await store(rest, "green tea", agent_id=agent, visibility=visibility)
    for agents, copies in ((None, 0), (["b"], 1), (["c"], 0), (["b", "c", "d"], 2), ("*", 2), (["a", "b", "b"], 1)):
        (hit,) = await search(rest, "tea", agent_id="a", agents=agents)
        assert hit["duplicates"] == copies
    assert await search(rest, "tea", agent_id="stranger") == []
    assert {hit["agent_id"] for hit in await search(rest, "tea", agent_id="stranger", agents="*", collapse=False)} == {
        "b",
        "d",
    }


async def test_a_literal_star_in_a_list_is_an_agent_of_that_name(rest: httpx.AsyncClient):
    await store(rest, "green tea", visibility="shared")
    await store(rest, "white tea", agent_id="*", visibility="shared")
    found = await search(rest, "tea", agent_id="other", agents=["*"])
    assert [hit["content"] for hit in found] == ["white tea"]


@pytest.fixture
async def services(run: Run) -> AsyncIterator[list[Running]]:
    """Three on one database, as three processes are: two keep spaces in memory, one has no room for any."""
    async with run() as one, run() as another, run(index=Index(memory=1)) as bare:
        yield [one, another, bare]


async def test_a_change_of_visibility_is_in_the_next_answer_of_every_service_by_every_route(services: list[Running]):
    """For an agent that has no memories itself too, whose first answers were of nothing."""
    memory = await store(services[0].client, **TEXT)
    doors = {f"{route} {name}": door for route in READING for name, door in DOORS[route].items()}
    for turn, visibility in enumerate(["private", "shared", "private", "shared", "private"]):
        if turn:
            memory = await change(services[turn % 3].client, memory, visibility=visibility)
        assert memory["visibility"] == visibility
        for service in services:
            for name, door in doors.items():
                reached = await door.reach(service.client, memory, STRANGER)
                assert reached is (door.shared and visibility == "shared"), (turn, name)
                assert await door.reach(service.client, memory, ANA), (turn, name)


@pytest.mark.parametrize("mode", Mode)
async def test_a_change_of_visibility_counts_at_once_beside_memories_of_ones_own(services: list[Running], mode: Mode):
    first = services[0].client
    own = [await store(first, f"white tea {n}", **OTHER, visibility=v) for n, v in enumerate(["private", "shared"])]
    flipped, kept = [(await store(first, f"green tea {n}")) for n in range(2)]
    for turn in range(7):
        visible = {memory["id"] for memory in own}
        if turn % 2:
            visible.add(flipped["id"])
        for service in services:
            for agents in ("*", ["assistant"]):
                hits = await search(service.client, "tea", **OTHER, agents=agents, mode=mode)
                listed = await service.client.get("/v1/memories", params=OTHER | {"agents": agents})
                figures = await service.client.get("/v1/stats", params=OTHER | {"agents": agents})
                assert {hit["id"] for hit in hits} == {one["id"] for one in listed.json()["memories"]} == visible
                assert len(hits) == listed.json()["total"] == figures.json()["memories"]["total"] == len(visible)
            assert await count(service.client, **OTHER) == len(own)
            assert {hit["id"] for hit in await search(service.client, "tea", mode=mode)} == {flipped["id"], kept["id"]}
        flipped = await change(services[turn % 3].client, flipped, visibility="private" if turn % 2 else "shared")
