"""Figures: what a caller may see is counted exactly, and what the process holds says nothing of whose it is."""

import asyncio
import random
from typing import Any

import httpx
import psycopg
import pytest

from memex import __version__
from memex.settings import Index
from tests.behaviour.asking import ANA, ask, count, delete, locations, move, search, store, store_all
from tests.fakes import DIMENSIONS, PATIENCE
from tests.fixtures.app import Run, Running

OTHER = ANA | {"agent_id": "other"}
STATES = ("active", "archived", "superseded")
KINDS = ("episodic", "semantic", "procedural")


async def stats(rest: httpx.AsyncClient, **asked: Any) -> dict[str, Any]:
    answer = await rest.get("/v1/stats", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def table(**counts: dict[str, int]) -> dict[str, dict[str, int]]:
    return {state: dict.fromkeys(KINDS, 0) | counts.get(state, {}) for state in STATES}


async def test_what_an_agent_may_see_is_counted_by_state_and_type(rest: httpx.AsyncClient, database: str):
    assert (await stats(rest, **ANA))["memories"] == ANA | {"total": 0} | table()
    stored = [await store(rest, f"tea {n}", memory_type=kind) for n, kind in enumerate(KINDS + KINDS[:1])]
    await store(rest, "gone soon", ttl_seconds=3600, external_id="gone")
    await move(rest, stored[1], "archive")
    await delete(rest, await store(rest, "deleted"))
    await store(rest, "shared", visibility="shared", memory_type="semantic", **OTHER)
    await store(rest, "private", **OTHER)
    await store(rest, "of another user", user_id="ben", visibility="shared")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("UPDATE memex.memories SET state = 'superseded' WHERE id = %s", [stored[2]["id"]])
        await connection.execute("UPDATE memex.memories SET expires_at = now() WHERE external_id = 'gone'")
    own = table(active={"episodic": 2}, archived={"semantic": 1}, superseded={"procedural": 1})
    assert (await stats(rest, **ANA))["memories"] == ANA | {"total": 4} | own
    assert await count(rest) == 2
    for agents in ("*", ["other"], ["other", "other", "assistant"]):
        wide = (await stats(rest, **ANA, agents=agents))["memories"]
        assert wide == ANA | {"total": 5} | own | {"active": {"episodic": 2, "semantic": 1, "procedural": 0}}
    assert (await stats(rest, **ANA, agents=["nobody"]))["memories"]["total"] == 4


async def test_what_others_do_in_private_changes_nothing_of_what_an_agent_sees(rest: httpx.AsyncClient):
    await store(rest, "tea")
    before = await stats(rest, **ANA, agents="*")
    for private in (OTHER, ANA | {"user_id": "ben"}, OTHER | {"user_id": "ben"}):
        await store_all(rest, [f"tea {n}" for n in range(20)], **private)
        await search(rest, "tea", **private)
    assert await stats(rest, **ANA, agents="*") == before


async def test_half_of_a_scope_is_refused(rest: httpx.AsyncClient):
    for asked, missing in (({"agent_id": "a"}, "user_id"), ({"user_id": "u"}, "agent_id")):
        assert locations(await rest.get("/v1/stats", params=asked)) == [["query", missing]]
    alone = await rest.get("/v1/stats", params={"agents": "*"})
    assert locations(alone) == [["query", "agent_id"], ["query", "user_id"]]
    assert alone.json()["detail"][0]["type"] == "missing"
    for field, wrong in (("agent_id", " "), ("user_id", "u" * 129), ("agents", " "), ("user", "ana")):
        (place,) = locations(await rest.get("/v1/stats", params=ANA | {field: wrong}))
        assert place[:2] == ["query", field]


async def test_without_a_caller_the_process_tells_of_itself_alone(run: Run):
    async with run(index=Index(memory=50_000_000)) as service:
        rest = service.client
        found = await stats(rest)
        assert found["version"] == __version__
        assert found["model"] == {
            "id": f"fake@{'0' * 16}", "dimensions": DIMENSIONS, "window": 4096, "engine": "fake",
        }  # fmt: skip
        assert found["memories"] is None
        process = found["process"]
        assert (process["worker"], process["workers"]) == (1, 1)
        assert process["index"] == {"spaces": 0, "memories": 0, "bytes": 0, "capacity": 50_000_000, "loading": 0}
        users = [f"secret-user-{n}" for n in range(3)]
        for number, user in enumerate(users):
            await store_all(rest, [f"secret text {user} {n}" for n in range(number + 1)], user_id=user)
            await search(rest, "question", user_id=user)
        told = await rest.get("/v1/stats")
        assert "secret" not in told.text
        index, cache = told.json()["process"]["index"], told.json()["process"]["cache"]
        assert (index["spaces"], index["memories"], index["loading"]) == (3, 6, 0)
        assert 0 < index["bytes"] < index["capacity"]
        assert (cache["entries"], cache["bytes"] > 7 * DIMENSIONS * 4) == (7, True)
        assert told.json()["process"]["uptime_seconds"] >= process["uptime_seconds"] >= 0


async def test_the_queue_is_what_waits_and_what_nobody_waits_for_is_not_in_it(service: Running):
    await store(service.client, "tea")
    service.encoder.forget()
    service.encoder.hold()
    searches = [asyncio.create_task(ask(service.client, f"question {n}")) for n in range(5)]
    await asyncio.to_thread(service.encoder.wait)
    taken = len(service.encoder.texts)
    async with asyncio.timeout(PATIENCE):
        while (queue := (await stats(service.client))["process"]["queue"])["texts"] + taken < 5:
            continue  # each look lets the searches go on
    assert queue["streams"] == 1
    assert queue["tokens"] == queue["texts"] * len("[question 0]")
    assert queue["seconds"] >= 0
    for one in searches:
        one.cancel()
    await asyncio.gather(*searches, return_exceptions=True)
    assert (await stats(service.client))["process"]["queue"]["texts"] == 0
    service.encoder.release()


async def test_figures_of_the_process_need_no_database(run: Run, relay: Any):
    async with run(relay.conninfo) as service:
        await relay.cut()
        assert (await service.client.get("/v1/stats")).status_code == 200
        refused = await service.client.get("/v1/stats", params=ANA)
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")


@pytest.mark.parametrize("seed", range(3))
async def test_counts_agree_with_lists_whatever_there_is(rest: httpx.AsyncClient, seed: int):
    choice = random.Random(seed).choice  # noqa: S311
    for number in range(40):
        kind, visibility = choice(KINDS), choice(["private", "shared"])
        who = {"agent_id": choice(["a", "b"]), "user_id": choice(["u", "v"])}
        memory = await store(rest, f"note {number}", memory_type=kind, visibility=visibility, **who)
        if choice([True, False, False]):
            await move(rest, memory, "archive")
    for agent in ("a", "b", "c"):
        for agents in ([], ["*"], ["b"]):
            asked = {"agent_id": agent, "user_id": "u", "agents": agents}
            listed = (await rest.get("/v1/memories", params=asked | {"include_archived": True, "limit": 100})).json()
            counted = (await stats(rest, **asked))["memories"]
            assert counted["total"] == listed["total"]
            for state in STATES:
                for kind in KINDS:
                    like = [m for m in listed["memories"] if (m["state"], m["memory_type"]) == (state, kind)]
                    assert counted[state][kind] == len(like)
