"""Read-your-writes of whole services: whatever happens meanwhile, an answer is what was acknowledged before it.

Three applications on one database, as three processes have them: one keeps every space in memory, one has room
for about one, so that it evicts and loads all the time, and one for none.
"""

import asyncio
import random
from collections.abc import AsyncIterator

import psycopg
import pytest

from memex.model import Mode
from memex.settings import Index
from tests.behaviour.asking import count, search, store
from tests.behaviour.mirror import USERS, Mirror
from tests.fixtures.app import Run, Running, room_for

STEPS = 1_500
A_SPACE = 40
# Of the one text that has a word, and of no other.
LEAST = {Mode.KEYWORD: 1e-6, Mode.SEMANTIC: 0.3, Mode.HYBRID: 0.3}
Services = tuple[Running, Running, Running]


@pytest.fixture
async def services(run: Run) -> AsyncIterator[Services]:
    async with run() as roomy, run(index=room_for(A_SPACE)) as tight, run(index=Index(memory=1)) as bare:
        yield roomy, tight, bare


@pytest.fixture
async def database_itself(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


@pytest.mark.timeout(240)
async def test_an_answer_is_what_was_acknowledged_before_it(
    services: Services, database_itself: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("memex.index.resident.ROWS_WORTH_KEEPING_ANSWERS", 1)
    mirror = Mirror([service.client for service in services], database_itself, 3)
    for _ in range(STEPS):
        await mirror.step()
    assert min(mirror.done.values()) > STEPS / 100
    roomy, tight, bare = (events(service) for service in services)
    assert roomy["delta"] > STEPS / 10
    assert roomy["repeat"] > STEPS / 100
    assert roomy["eviction"] == roomy["too_large"] == 0
    assert tight["eviction"] > STEPS / 30
    assert bare["too_large"] > STEPS / 10


def events(service: Running) -> dict[str, float]:
    value = service.metrics.registry.get_sample_value
    return {
        kind: value("memex_index_events_total", {"event": kind}) or 0.0
        for kind in ("load", "delta", "eviction", "too_large", "repeat")
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
        mode = self.random.choice(list(Mode))
        asked = {"mode": mode, "alpha": 1, "user_id": user, "min_score": LEAST[mode]}
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
