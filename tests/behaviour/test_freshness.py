"""Read-your-writes of whole services: whatever happens meanwhile, an answer is what was acknowledged before it.

Three applications on one database, as three processes have them: one keeps every space in memory, one has room
for about one, so that it evicts and loads all the time, and one for none.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from memex.model import Space
from memex.settings import Index
from tests.behaviour.asking import count, search, store
from tests.fixtures.app import Run, Running

STEPS = 5_000
USERS = ("ana", "ben", "cleo")
AGENTS = ("a", "b")
ONE_SPACE = 100_000
Memory = dict[str, Any]
Services = tuple[Running, Running, Running]


@pytest.fixture
async def services(run: Run) -> AsyncIterator[Services]:
    async with run() as roomy, run(index=Index(memory=ONE_SPACE)) as tight, run(index=Index(memory=1)) as bare:
        yield roomy, tight, bare


@pytest.fixture
async def database_itself(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


class Mirror:
    """The services, what they have acknowledged, and random steps of all kinds."""

    def __init__(self, services: Services, database: psycopg.AsyncConnection, seed: int) -> None:
        self.services = services
        self.database = database
        self.random = random.Random(seed)  # noqa: S311 - repeatable is what counts
        self.kept: dict[tuple[str, str], dict[str, Memory]] = {(u, a): {} for u in USERS for a in AGENTS}
        self.deleted: list[Memory] = []
        self.done = dict.fromkeys(("write", "delete", "search", "lookup", "count", "purge", "epoch"), 0)

    @property
    def client(self) -> httpx.AsyncClient:
        """One of the services, at random."""
        return self.random.choice(self.services).client

    def owner(self) -> dict[str, str]:
        user, agent = self.random.choice(list(self.kept))
        return {"user_id": user, "agent_id": agent}

    async def step(self) -> None:
        kinds = list(self.done)
        (kind,) = self.random.choices(kinds, (24, 20, 30, 16, 5, 3, 2))
        self.done[kind] += 1
        await getattr(self, kind)(self.owner())

    async def write(self, owner: dict[str, str]) -> None:
        number = sum(self.done.values())
        memory = await store(self.client, f"swans note{number}", **owner)
        self.kept[owner["user_id"], owner["agent_id"]][memory["id"]] = memory

    async def delete(self, owner: dict[str, str]) -> None:
        kept = self.kept[owner["user_id"], owner["agent_id"]]
        if not kept:
            return
        memory = kept.pop(self.random.choice(list(kept)))
        user = {"user_id": owner["user_id"]} if self.random.random() < 0.5 else {}
        path, params = f"/v1/memories/{memory['id']}", {"agent_id": owner["agent_id"]} | user
        assert (await self.client.delete(path, params=params)).status_code == 204
        assert (await self.client.delete(path, params=params)).status_code == 404
        self.deleted.append(memory)

    async def search(self, owner: dict[str, str]) -> None:
        """The whole of what an agent knows of a user, newest first."""
        kept = self.kept[owner["user_id"], owner["agent_id"]].values()
        newest = sorted(kept, key=lambda memory: (memory["created_at"], memory["id"]), reverse=True)
        mode = self.random.choice(["keyword", "semantic", "hybrid"])
        hits = await search(self.client, "swans", alpha=0, top_k=50, mode=mode, **owner)
        assert [hit["content"] for hit in hits] == [memory["content"] for memory in newest[:50]]
        assert [hit["id"] for hit in hits] == [memory["id"] for memory in newest[:50]]

    async def lookup(self, owner: dict[str, str]) -> None:
        """One memory by the word that it alone has, and one that was deleted by the same."""
        kept = list(self.kept[owner["user_id"], owner["agent_id"]].values())
        asked = {"alpha": 1, "mode": "keyword", "min_score": 1e-6}
        for known, memories in ((True, kept), (False, self.deleted)):
            if memories:
                memory = self.random.choice(memories)
                word = memory["content"].split()[1]
                who = {name: memory[name] for name in ("user_id", "agent_id")}
                hits = await search(self.client, word, **asked, **who)
                assert [hit["id"] for hit in hits] == [memory["id"]] * known

    async def count(self, owner: dict[str, str]) -> None:
        assert await count(self.client, **owner) == len(self.kept[owner["user_id"], owner["agent_id"]])

    async def purge(self, owner: dict[str, str]) -> None:
        key = Space("default", owner["user_id"]).key
        await self.database.execute("SELECT memex.memex_purge(%s, clock_timestamp())", (key,))

    async def epoch(self, owner: dict[str, str]) -> None:
        key = Space("default", owner["user_id"]).key
        await self.database.execute("UPDATE memex.spaces SET epoch = epoch + 1 WHERE space_key = %s", (key,))


@pytest.mark.timeout(240)
async def test_an_answer_is_what_was_acknowledged_before_it(
    services: Services, database_itself: psycopg.AsyncConnection
):
    mirror = Mirror(services, database_itself, 3)
    for _ in range(STEPS):
        await mirror.step()
    assert min(mirror.done.values()) > 50
    roomy, tight, bare = (events(service) for service in services)
    assert roomy["delta"] > 500
    assert roomy["eviction"] == roomy["too_large"] == 0
    assert tight["eviction"] > 200
    assert bare["too_large"] > 500
    assert bare["load"] == 0


def events(service: Running) -> dict[str, float]:
    value = service.metrics.registry.get_sample_value
    return {
        kind: value("memex_index_events_total", {"event": kind}) or 0.0
        for kind in ("load", "delta", "eviction", "too_large")
    }


class Crowd:
    """Clients that write, look and delete at the same time, each knowing only its own memories."""

    def __init__(self, services: Services, seed: int) -> None:
        self.services = services
        self.random = random.Random(seed)  # noqa: S311 - repeatable is what counts
        self.kept = 0

    async def live(self, name: str, user: str, rounds: int) -> None:
        for number in range(rounds):
            writer, eraser = self.random.sample(self.services, 2)
            content = f"{name}x{number} swans"
            memory = await store(writer.client, content, user_id=user)
            await self.look(content, user, [memory["id"]])
            if number % 2:
                path, params = f"/v1/memories/{memory['id']}", {"agent_id": "assistant"}
                assert (await eraser.client.delete(path, params=params)).status_code == 204
                await self.look(content, user, [])
            else:
                self.kept += 1

    async def look(self, content: str, user: str, ids: list[str]) -> None:
        """All services, at once."""
        asked = {"mode": "keyword", "alpha": 1, "user_id": user, "min_score": 1e-6}
        word = content.split(maxsplit=1)[0]
        for hits in await asyncio.gather(*[search(s.client, word, **asked) for s in self.services]):
            assert [hit["id"] for hit in hits] == ids

    async def gaze(self, user: str, over: asyncio.Event) -> None:
        """Searches all the time, also before there is anything."""
        while not over.is_set():
            await search(self.random.choice(self.services).client, "swans", user_id=user, mode="keyword")


async def test_writers_and_readers_at_once_miss_nothing(services: Services):
    crowd, over = Crowd(services, 5), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for user in USERS * 2:
            tasks.create_task(crowd.gaze(user, over))
        await asyncio.gather(*[crowd.live(f"writer{n}", USERS[n % 3], 20) for n in range(12)])
        over.set()
    for service in services:
        assert sum([await count(service.client, user_id=user) for user in USERS]) == crowd.kept == 120


async def test_the_first_memory_of_a_user_is_found_by_those_who_were_already_looking(services: Services):
    """Searches of a user without memories are on their way all the time while the first one is written."""
    for number in range(60):
        user = f"newcomer{number}"
        crowd, over = Crowd(services, number), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(crowd.gaze(user, over))
            await crowd.live("first", user, 1)
            over.set()


async def test_services_write_at_once_and_lose_nothing(services: Services):
    written = await asyncio.gather(*[store(s.client, f"note {n}") for n in range(100) for s in services])
    assert len({memory["id"] for memory in written}) == 300
    for service in services:
        assert await count(service.client) == 300
