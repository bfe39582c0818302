"""Keys: a request is done once, whoever asks at the same time, and nothing of it outlives its memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memex.errors import IdempotencyConflict, MemexError, NotFound, StoreUnavailable, VersionConflict
from memex.metrics import Metrics
from memex.model import Memory, Scope, Space, State
from memex.settings import Database
from memex.store import Change, Keys, Pool, Reads, RequestKey, Writes
from memex.store import keys as keys_module
from memex.store.faults import DataRefused
from tests.store.gates import hold, someone_waits
from tests.store.making import MODEL, SCOPE, SPACE, a_text, a_write, new_id

KEY = RequestKey("store", "k", bytes(32))
OTHER = RequestKey("store", "k", bytes([1]) * 32)
LATE = "UPDATE memex.idempotency_keys SET used_at = used_at - interval '24 hours'"


def a_change(memory: Memory, key: RequestKey | None, **changed: Any) -> Change:
    fields: dict[str, Any] = {"space": SPACE, "id": UUID(memory.id), "agent_id": "agent", "model_id": MODEL.id}
    return Change(**fields | changed, key=key)


def of(route: str, key: str = "k") -> RequestKey:
    return RequestKey(route, key, bytes(32))


@pytest.fixture
async def another(database: str, settings: Database) -> AsyncIterator[Writes]:
    """The writes of another process."""
    metrics = Metrics()
    pool = Pool(database, settings, metrics)
    await pool.open()
    writes = Writes(pool, metrics, 20.0)
    writes.start()
    yield writes
    await writes.close()
    await pool.close()


async def one(gate: psycopg.AsyncConnection, query: str) -> Any:
    row = await (await gate.execute(query.encode())).fetchone()
    assert row is not None
    return row[0]


async def noted(gate: psycopg.AsyncConnection) -> int:
    return int(await one(gate, "SELECT count(*) FROM memex.idempotency_keys"))


async def test_equal_writes_of_one_group_and_of_two_processes_store_once(
    writes: Writes, another: Writes, gate: psycopg.AsyncConnection
):
    await writes.write(a_write("first of all"))
    await hold(gate)
    tasks = [asyncio.create_task(each.write(a_write("tea", key=KEY))) for _ in range(25) for each in (writes, another)]
    await someone_waits(gate)
    await gate.execute("COMMIT")
    written = await asyncio.gather(*tasks)
    assert sorted(w.replayed for w in written) == [False] + [True] * 49
    assert all(w.created and w.memory == written[0].memory for w in written)
    counts = "SELECT count(*) FROM memex.memories", "SELECT memory_count FROM memex.spaces"
    assert [await one(gate, query) for query in counts] == [2, 2]
    vectors = "SELECT vector_count = (SELECT count(*) FROM memex.memory_vectors) FROM memex.spaces"
    assert await one(gate, vectors) is True


@pytest.mark.parametrize(
    "changed",
    [{"agent_id": "other"}, {"space": Space("default", "ben")}, {"key": of("batch")}, {"key": of("store", "K")}],
    ids=str,
)
async def test_a_key_is_the_agents_the_spaces_and_the_routes_own(writes: Writes, changed: dict[str, Any]):
    await writes.write(a_write("tea", key=KEY))
    written = await writes.write(a_write("tea", **{"key": KEY} | changed))
    assert (written.created, written.replayed) == (True, False)


async def test_another_request_with_the_key_is_refused_and_leaves_the_others_alone(
    writes: Writes, gate: psycopg.AsyncConnection
):
    first = await writes.write(a_write("tea", key=KEY))
    outcomes = await asyncio.gather(
        writes.write(a_write("milk", key=OTHER)),
        writes.write(a_write("wine")),
        writes.write(a_write("tea", key=KEY)),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], IdempotencyConflict)
    assert not isinstance(outcomes[1], BaseException)
    assert not isinstance(outcomes[2], BaseException)
    assert (outcomes[2].memory, outcomes[2].replayed) == (first.memory, True)
    assert await one(gate, "SELECT memory_count FROM memex.spaces") == 2


async def test_what_was_found_is_found_again(writes: Writes):
    first = (await writes.write(a_write("tea", external_id="e"))).memory
    for replayed in (False, True):
        written = await writes.write(a_write("milk", external_id="e", key=KEY))
        assert (written.created, written.replayed, written.memory) == (False, replayed, first)


async def test_an_answer_is_that_of_then_whatever_has_changed(writes: Writes):
    original = (await writes.write(a_write("tea"))).memory
    stored = (await writes.write(a_write("tea", key=KEY, ttl_seconds=60))).memory
    assert stored.duplicate_of == original.id
    changes = [
        a_change(stored, of("change", "1"), text=a_text("coffee"), importance=0.5, tags=["a"], metadata={"n": 1}),
        a_change(stored, of("archive"), state=State.ARCHIVED),
        a_change(stored, of("restore"), state=State.ACTIVE, versions=(3,)),
        a_change(stored, of("change", "2"), text=a_text("tea")),
        a_change(stored, of("change", "3"), text=a_text("tea")),
    ]
    told = [(await writes.change(change)).memory for change in changes]
    assert [memory.version for memory in told] == [2, 3, 4, 5, 5]
    await writes.delete(SCOPE, UUID(original.id), "ana")
    assert (await writes.write(a_write("tea", key=KEY, ttl_seconds=60))).memory == stored
    for change, before in zip(changes, told, strict=True):
        again = await writes.change(change)
        assert (again.replayed, again.memory) == (True, before)


async def test_what_was_not_done_is_not_noted(writes: Writes, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write("tea"))).memory
    failing = [
        (writes.write(a_write("x", importance=9.0, key=KEY)), DataRefused),
        (writes.change(a_change(memory, of("change"), importance=0.5, versions=(7,))), VersionConflict),
        (writes.change(a_change(memory, of("change"), id=new_id(), importance=0.5)), NotFound),
        (writes.change(a_change(memory, of("change"), space=Space("default", "nobody"))), NotFound),
        (writes.delete(SCOPE, new_id(), "ana", of("delete")), NotFound),
        (writes.delete(SCOPE, new_id(), "nobody", of("delete")), NotFound),
        (writes.delete(SCOPE, new_id(), None, of("delete")), NotFound),
    ]
    for act, error in failing:
        with pytest.raises(error):
            await act
    assert await noted(gate) == 0
    assert not (await writes.write(a_write("x", key=KEY))).replayed
    assert not (await writes.change(a_change(memory, of("change"), importance=0.5))).replayed


async def test_a_poison_row_takes_no_key_with_it(writes: Writes, gate: psycopg.AsyncConnection):
    await writes.write(a_write("first of all"))
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write("first")))
    await someone_waits(gate)
    rest = [a_write("good", key=KEY), a_write("x", importance=9.0, key=of("store", "p")), a_write("good", key=KEY)]
    tasks = [asyncio.create_task(writes.write(write)) for write in rest]
    await asyncio.sleep(0)
    await gate.execute("COMMIT")
    good, poison, again = await asyncio.gather(*tasks, return_exceptions=True)
    await first
    assert isinstance(poison, DataRefused)
    assert not isinstance(good, BaseException)
    assert not isinstance(again, BaseException)
    assert (good.replayed, again.replayed, again.memory) == (False, True, good.memory)
    assert await noted(gate) == 1


async def test_a_lost_connection_notes_nothing_that_was_not_stored(writes: Writes, gate: psycopg.AsyncConnection):
    await writes.write(a_write("first of all"))
    await hold(gate)
    lost = asyncio.create_task(writes.write(a_write("tea", key=KEY)))
    await gate.execute("SELECT pg_terminate_backend(%s)", [await someone_waits(gate)])
    with pytest.raises(StoreUnavailable):
        await lost
    await gate.execute("COMMIT")
    assert await noted(gate) == 0
    assert (await writes.write(a_write("tea", key=KEY))).replayed is False


@pytest.mark.parametrize("user_id", ["ana", None])
async def test_a_delete_is_told_again_and_no_other_one(writes: Writes, another: Writes, user_id: str | None):
    first, second = [(await writes.write(a_write(text))).memory for text in ("tea", "milk")]
    assert await writes.delete(SCOPE, UUID(first.id), user_id, of("delete")) is False
    for each in (writes, another):
        assert await each.delete(SCOPE, UUID(first.id), user_id, of("delete")) is True
    strangers = (None, of("delete", "K")), (None, of("archive"))
    refused = [(SCOPE, UUID(first.id), *who) for who in strangers]
    refused += [(Scope("default", "other"), UUID(first.id), None, of("delete"))]
    refused += [(Scope("elsewhere", "agent"), UUID(first.id), None, of("delete"))]
    for scope, memory_id, whose, key in refused:
        with pytest.raises(NotFound):
            await writes.delete(scope, memory_id, whose, key)
    with pytest.raises(IdempotencyConflict):
        await writes.delete(SCOPE, UUID(second.id), user_id, RequestKey("delete", "k", bytes([1]) * 32))


async def test_two_equal_deletes_at_once_are_one(writes: Writes, another: Writes):
    memory = (await writes.write(a_write("tea"))).memory
    both = [each.delete(SCOPE, UUID(memory.id), "ana", of("delete")) for each in (writes, another, writes)]
    assert sorted(await asyncio.gather(*both)) == [False, True, True]


async def test_nothing_of_a_deleted_memory_is_left_and_no_retry_brings_it_back(
    writes: Writes, gate: psycopg.AsyncConnection
):
    write = a_write("Xyzzy is the word", tags=["plugh"], metadata={"frotz": 1}, key=RequestKey("store", "k", b"d" * 32))
    memory = (await writes.write(write)).memory
    change = a_change(memory, RequestKey("change", "k", b"e" * 32), text=a_text("Xyzzy was the word"))
    copy = (await writes.write(a_write("Xyzzy is the word"))).memory
    await writes.change(change)
    await writes.delete(SCOPE, UUID(memory.id), "ana", of("delete"))
    await writes.delete(SCOPE, UUID(copy.id), "ana")
    for retry in (writes.write(write), writes.change(change)):
        with pytest.raises(NotFound):
            await retry
    assert await one(gate, "SELECT memory_count FROM memex.spaces") == 0
    kept = await everything(gate)
    secrets = [b"xyzzy", b"plugh", b"frotz", b"d" * 32, b"e" * 32, write.text.content_hash]
    assert [secret for secret in secrets if secret.hex() in kept or secret.decode("latin-1") in kept] == []
    assert kept.count("|key|") == 3


async def everything(gate: psycopg.AsyncConnection) -> str:
    """Every row of every table, in lower case; a key's row is marked."""
    tables = await (
        await gate.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'memex'::regnamespace")
    ).fetchall()
    found = []
    for (table,) in tables:
        rows = await (await gate.execute(f"SELECT t::text FROM memex.{table} AS t".encode())).fetchall()  # noqa: S608
        mark = "|key|" if table == "idempotency_keys" else ""
        found += [mark + row[0].lower() for row in rows]
    return "\n".join(found)


async def test_a_key_is_free_again_after_a_day_by_the_clock_of_the_database(
    writes: Writes, gate: psycopg.AsyncConnection
):
    first = await writes.write(a_write("tea", key=KEY))
    await gate.execute("UPDATE memex.idempotency_keys SET used_at = used_at - interval '23 hours 59 minutes'")
    assert (await writes.write(a_write("tea", key=KEY))).replayed
    await gate.execute("UPDATE memex.idempotency_keys SET used_at = used_at - interval '1 minute'")
    second = await writes.write(a_write("milk", key=OTHER))
    assert (second.replayed, second.created) == (False, True)
    assert (await writes.write(a_write("milk", key=OTHER))).memory == second.memory != first.memory


async def test_old_keys_are_forgotten_in_batches_and_nobody_waits(
    writes: Writes, pool: Pool, gate: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keys_module, "BATCH", 4)
    for number in range(11):
        await writes.write(a_write(str(number), key=of("store", str(number))))
    assert await Keys(pool).purge() == 0
    await gate.execute(LATE)
    await writes.write(a_write("new", key=KEY))
    await gate.execute("BEGIN")
    await gate.execute("SELECT FROM memex.idempotency_keys WHERE key = '0' FOR UPDATE")
    assert await Keys(pool).purge() == 10
    await gate.execute("COMMIT")
    assert sum(await asyncio.gather(Keys(pool).purge(), Keys(pool).purge())) == 1
    assert await noted(gate) == 1


async def test_a_memory_that_expired_is_still_told_of(writes: Writes, reads: Reads, gate: psycopg.AsyncConnection):
    stored = (await writes.write(a_write("tea", key=KEY, ttl_seconds=60))).memory
    change = a_change(stored, of("change"), importance=0.5)
    changed = (await writes.change(change)).memory
    await gate.execute("UPDATE memex.memories SET expires_at = now()")
    with pytest.raises(MemexError):
        await reads.memory(SCOPE, UUID(stored.id), None)
    assert (await writes.write(a_write("tea", key=KEY, ttl_seconds=60))).memory == stored
    assert (await writes.change(change)).memory.version == changed.version
