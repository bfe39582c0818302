"""Deletes by conditions that are repeated with a key: their parts are counted once, whoever deletes them and when."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from memex.metrics import Metrics
from memex.model import Space
from memex.service import removals
from memex.store import Keys, Pool
from memex.store import keys as keys_module
from tests.behaviour.asking import count, store, store_all
from tests.behaviour.manifest import proves
from tests.behaviour.test_keys import keyed, replayed
from tests.fixtures.app import PATIENT, Run
from tests.store.gates import hold, someone_waits

AGENT = {"agent_id": "assistant"}


async def remove(rest: httpx.AsyncClient, key: str = "k", **asked: Any) -> httpx.Response:
    return await keyed(rest, "POST", "/v1/memories/delete", key, json=AGENT | asked)


async def cut_off(rest: httpx.AsyncClient, gate: psycopg.AsyncConnection, user: str, **asked: Any) -> None:
    """A delete that loses its connection before it deletes anything of this user."""
    await hold(gate, Space("default", user))
    waiting = asyncio.create_task(remove(rest, **asked))
    await gate.execute("SELECT pg_terminate_backend(%s)", [await someone_waits(gate)])
    await gate.execute("COMMIT")
    assert (await waiting).status_code == 503


@proves("delete.once")
async def test_a_repeated_delete_leaves_what_was_stored_after_it(rest: httpx.AsyncClient):
    await store_all(rest, map(str, range(300)))
    await store(rest, "of another user", user_id="ben", tags=["t"])
    first = await remove(rest, user_id="ana")
    assert (first.json(), replayed(first)) == ({"deleted": 300, "dry_run": False}, False)
    await store(rest, "later")
    again = await remove(rest, user_id="ana")
    assert (again.content, replayed(again)) == (first.content, True)
    assert [await count(rest), await count(rest, user_id="ben")] == [1, 1]
    for other in ({"user_id": "ben"}, {"tags_any": ["t"]}, {"user_id": "ana", "tags_any": ["t"]}):
        refused = await remove(rest, **other)
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    assert (await remove(rest, "other", tags_any=["t"])).json()["deleted"] == 1


async def test_nothing_to_delete_is_an_answer_too_and_another_agents_key_another(rest: httpx.AsyncClient):
    assert (await remove(rest, user_id="ana")).json()["deleted"] == 0
    await store(rest, "tea")
    await store(rest, "tea", agent_id="other")
    assert (await remove(rest, user_id="ana")).json()["deleted"] == 0
    assert (await remove(rest, user_id="ana", agent_id="other")).json()["deleted"] == 1
    assert await count(rest) == 1


async def test_a_count_uses_up_no_key(rest: httpx.AsyncClient):
    await store(rest, "tea")
    tried = [await remove(rest, user_id="ana", dry_run=True) for _ in range(2)]
    assert [(answer.json()["deleted"], replayed(answer)) for answer in tried] == [(1, False)] * 2
    done = await remove(rest, user_id="ana")
    assert (done.json()["deleted"], replayed(done)) == (1, False)
    assert (await remove(rest, user_id="ana", dry_run=True)).json() == {"deleted": 0, "dry_run": True}


async def test_equal_deletes_at_once_through_two_services_are_one(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(removals, "PART", 4)
    async with run() as first, run() as second:
        clients = (first.client, second.client)
        for user in ("ana", "ben", "cleo"):
            await store_all(first.client, map(str, range(20)), user_id=user)
        asked = [remove(rest, older_than_days=0) for _ in range(5) for rest in clients]
        answers = await asyncio.gather(*asked)
        assert {answer.json()["deleted"] for answer in answers} == {60}
        assert sum(map(replayed, answers)) == 9
        done = [
            sum(
                s.metrics.registry.get_sample_value("memex_memory_operations_total", {"operation": name}) or 0
                for s in (first, second)
            )
            for name in ("delete", "replay")
        ]
        assert done == [60, 9]


@proves("delete.once")
async def test_a_retry_does_what_is_left_and_counts_both(rest: httpx.AsyncClient, gate: psycopg.AsyncConnection):
    """The connection is lost between the memories of one user and those of another; what is stored then stays."""
    for user, number in (("ana", 3), ("ben", 4)):
        await store_all(rest, map(str, range(number)), user_id=user)
    await cut_off(rest, gate, "ben", older_than_days=0)
    assert [await count(rest), await count(rest, user_id="ben")] == [0, 4]
    await store(rest, "later")
    assert (await remove(rest, older_than_days=1)).status_code == 409
    retry = await remove(rest, older_than_days=0)
    assert (retry.json()["deleted"], replayed(retry)) == (7, False)
    assert replayed(await remove(rest, older_than_days=0))
    assert [await count(rest), await count(rest, user_id="ben")] == [1, 0]


async def test_what_failed_before_it_deleted_anything_makes_way(rest: httpx.AsyncClient, gate: psycopg.AsyncConnection):
    await store(rest, "tea")
    await cut_off(rest, gate, "ana", user_id="ana")
    other = await remove(rest, user_id="ana", tags_any=["t"])
    assert (other.json()["deleted"], replayed(other)) == (0, False)
    assert (await remove(rest, user_id="ana")).status_code == 409
    assert await count(rest) == 1


async def test_a_key_holds_for_a_day_by_the_database_and_is_forgotten_then(
    rest: httpx.AsyncClient, pool: Pool, gate: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keys_module, "BATCH", 2)
    for number in range(5):
        await remove(rest, str(number), user_id="ana")
    assert await Keys(pool).purge() == 0
    await gate.execute("UPDATE memex.removals SET used_at = used_at - interval '24 hours'")
    await store(rest, "tea")
    late = await remove(rest, "0", tags_any=["t"])
    assert (late.json()["deleted"], replayed(late)) == (0, False)
    assert (await remove(rest, "1", user_id="ana")).json()["deleted"] == 1
    assert await Keys(pool).purge() == 3
    assert replayed(await remove(rest, "1", user_id="ana"))


@pytest.fixture
async def gate(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    pool = Pool(database, PATIENT, Metrics())
    await pool.open()
    yield pool
    await pool.close()
