"""Old deletions are forgotten, one process at a time, and a reader that missed one loads anew."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from memex.errors import StoreUnavailable
from memex.metrics import Metrics
from memex.model import Space
from memex.settings import Database
from memex.store import tombstones as tombstones_module
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.tombstones import Tombstones
from memex.store.writes import Writes
from tests.fixtures.relay import Relay
from tests.oracles.copying import everything
from tests.store.making import SCOPE, SPACE, a_write

DAY = 86_400.0


async def delete_some(writes: Writes, count: int, space: Space = SPACE) -> None:
    """Writes and deletes so many memories."""
    written = await asyncio.gather(*[writes.write(a_write(str(n), space=space)) for n in range(count)])
    await asyncio.gather(*[writes.delete(SCOPE, UUID(w.memory.id), space.user_id) for w in written])


def left(database: str) -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT count(*) FROM memex.tombstones").fetchone()
        assert found is not None
        return int(found[0])


def age(database: str, condition: str = "true") -> None:
    with psycopg.connect(database) as connection:
        statement = f"UPDATE memex.tombstones SET deleted_at = deleted_at - interval '2 days' WHERE {condition}"  # noqa: S608
        connection.execute(statement.encode())


async def test_only_old_deletions_are_forgotten(pool: Pool, writes: Writes, database: str):
    await delete_some(writes, 5)
    assert await Tombstones(pool).purge(DAY) == 0
    age(database)
    await delete_some(writes, 3, Space("default", "ben"))
    assert await Tombstones(pool).purge(DAY) == 5
    assert left(database) == 3


async def test_many_of_many_spaces_go_in_batches(
    pool: Pool, writes: Writes, database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tombstones_module, "BATCH", 4)
    for number in range(3):
        await delete_some(writes, 7, Space("default", str(number)))
    age(database)
    assert await Tombstones(pool).purge(DAY) == 21
    assert left(database) == 0


async def test_a_reader_that_may_have_missed_one_loads_anew(pool: Pool, writes: Writes, reads: Reads, database: str):
    await writes.write(a_write("kept"))
    async with reads.load(SPACE) as snapshot:
        before = snapshot.state
    await delete_some(writes, 2)
    async with reads.load(SPACE) as snapshot:
        after = snapshot.state
    age(database)
    await Tombstones(pool).purge(DAY)
    for state, reload in ((before, True), (after, False)):
        async with reads.changes(SPACE, state) as changes:
            assert changes.reload is reload
            assert len(await everything(changes)) == 1


async def test_a_purge_while_a_space_is_read_changes_nothing_of_what_is_read(
    pool: Pool, writes: Writes, reads: Reads, database: str
):
    await delete_some(writes, 2)
    kept = await writes.write(a_write("kept"))
    age(database)
    async with reads.load(SPACE) as snapshot:
        assert await Tombstones(pool).purge(DAY) == 2
        await writes.delete(SCOPE, UUID(kept.memory.id), "ana")
        assert set(await everything(snapshot)) == {UUID(kept.memory.id).bytes}
        state = snapshot.state
    async with reads.changes(SPACE, state) as changes:
        assert (changes.reload, changes.removed) == (False, [UUID(kept.memory.id).bytes])


async def test_one_process_at_a_time(pool: Pool, writes: Writes, database: str, settings: Database):
    await delete_some(writes, 1)
    age(database)
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [tombstones_module.TURN])
        assert await Tombstones(pool).purge(DAY) is None
    second = Pool(database, settings, Metrics())
    await second.open()
    turns = await asyncio.gather(*[Tombstones(p).purge(DAY) for p in (pool, second) for _ in range(5)])
    assert sum(turn or 0 for turn in turns) == 1
    assert await Tombstones(second).purge(DAY) == 0
    await second.close()


async def test_a_turn_that_fails_leaves_the_next_one_free(
    writes: Writes, database: str, settings: Database, relay: Relay, monkeypatch: pytest.MonkeyPatch
):
    await delete_some(writes, 3)
    age(database)
    pool = Pool(relay.conninfo, settings, Metrics())
    await pool.open()
    aged = tombstones_module.aged

    async def cut(*args):
        await relay.cut()
        return await aged(*args)

    with monkeypatch.context() as patch:
        patch.setattr(tombstones_module, "aged", cut)
        with pytest.raises(StoreUnavailable):
            await Tombstones(pool).purge(DAY)
    await relay.open()
    while (purged := await Tombstones(pool).purge(DAY)) is None:  # noqa: ASYNC110 (the server sees when the line is dead)
        await asyncio.sleep(0)
    assert purged == 3
    await pool.close()
