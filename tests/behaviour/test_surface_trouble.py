"""What calls leave as it was: fields that nobody named, figures, the log, and the process."""

import asyncio
import gc
import logging
import re
from typing import Any

import httpx
import pytest

from tests.behaviour import asking
from tests.behaviour.asking import ANA
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import SURFACES, Surface, calls, count, open_surface, search, store
from tests.fixtures.app import Running

OWN = {"agent_id": ANA["agent_id"]}
FULL: dict[str, Any] = {
    "memory_type": "procedural", "tags": ["a", "b"], "metadata": {"k": [1, None]}, "session_id": "s", "source": "chat",
    "external_id": "e", "created_at": "2020-01-01", "visibility": "shared", "ttl_seconds": 3600,
}  # fmt: skip
MOVES = ("version", "updated_at")


@proves("update.keeps-the-rest")
async def test_an_update_resets_nothing_that_it_does_not_name(surface: Surface, rest: httpx.AsyncClient):
    memory = await asking.store(rest, "tea", importance=0.5, **FULL)
    for change in ({"content": "milk"}, {"importance": 1.5}, {"content": "wine", "importance": 0.0}):
        told = await surface.call("update_memory", OWN | {"memory_id": memory["id"]} | change)
        kept = {name: value for name, value in memory.items() if name not in (*MOVES, *change)}
        assert {name: told.content[name] for name in kept} == kept
        assert told.content["version"] == memory["version"] + 1
        memory = told.content
    await store(surface, "water")
    await surface.call("delete_memory", OWN | {"memory_id": (await store(surface, "coffee"))["id"]})
    assert (await surface.call("get_memory", OWN | {"memory_id": memory["id"]})).content == memory


async def series(rest: httpx.AsyncClient) -> list[str]:
    """Names and labels of all that is measured."""
    lines = (await rest.get("/metrics")).text.splitlines()
    return [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]


@proves("metrics.bounded")
async def test_the_number_of_series_does_not_grow_with_users(surface: Surface, rest: httpx.AsyncClient):
    async def visit(user: int) -> int:
        who = {"agent_id": f"agent-{user}-of-many", "user_id": f"user-{user}-of-many"}
        memory = await store(surface, f"note-{user}-of-many", **who)
        for name, call in calls(memory["id"]).items():
            named = call | {field: value for field, value in who.items() if field in call}
            assert not (await surface.call(name, named)).failed
            assert (await surface.call(name, named | {"namespace": f"{user}-of-many"})).failed
        found = await series(rest)
        assert not [one for one in found if "of-many" in one or memory["id"] in one]
        return len(found)

    await visit(0)
    bound = await visit(1)
    assert [await visit(user) for user in range(2, 30)] == [bound] * 28


@proves("memory.flat")
async def test_nothing_is_kept_of_a_call(surface: Surface, caplog: pytest.LogCaptureFixture):
    """The same calls again and again, wrong ones among them; what they say is in the caches since the first.

    A call that leaves something leaves several objects; timers that were called off and addresses that the router
    remembers are less than one, and bounded.
    """
    caplog.set_level(logging.CRITICAL, "memex")  # pytest keeps what is logged

    made = 0

    async def objects_after(rounds: int) -> int:
        nonlocal made
        for _ in range(rounds):
            memory = await store(surface, "tea")
            for name, call in calls(memory["id"]).items():
                if name != "store_memory":
                    assert not (await surface.call(name, call)).failed
                    assert (await surface.call(name, call | {"agent_id": ""})).failed
                    made += 2
        gc.collect()
        return len(gc.get_objects())

    await objects_after(15)
    first = await objects_after(5)
    made = 0
    assert await objects_after(25) - first < made


@proves("clients.hang-up")
@pytest.mark.parametrize("name", SURFACES)
async def test_clients_that_hang_up_are_no_errors_and_leave_nothing_behind(
    service: Running, name: str, caplog: pytest.LogCaptureFixture
):
    await asking.store(service.client, "green tea")
    service.encoder.forget()
    service.encoder.hold()
    async with open_surface(name, service) as surface:
        searches = [("search_memories", ANA | {"query": f"question {n}"}) for n in range(50)]
        writes = [("store_memory", ANA | {"content": f"text {n}"}) for n in range(50)]
        asked = [asyncio.create_task(surface.call(*call)) for call in searches + writes]
        await asyncio.to_thread(service.encoder.wait)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        service.encoder.release()
        assert [hit["content"] for hit in await search(surface, "green tea")] == ["green tea"]
        assert await count(surface) == 1
    text = (await service.client.get("/metrics")).text
    assert not re.findall(r'http_requests_total\{.*status="[45]xx"\}', text)
    assert "memex_requests_in_flight 1.0" in text  # this one
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
