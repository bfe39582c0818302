"""Coalescing, poison rows, lost connections, external ids, duplicates, deletes."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memex.errors import NotFound, Overloaded, StoreFault, StoreUnavailable
from memex.metrics import Metrics
from memex.model import Scope, Space, Visibility
from memex.settings import Database
from memex.store import writes as writes_module
from memex.store.composites import Written
from memex.store.faults import DataRefused
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.oracles.copying import everything
from tests.store.gates import hold, someone_waits
from tests.store.making import SCOPE, SPACE, a_write, new_id, vector


def commits(metrics: Metrics) -> tuple[float, float]:
    """Groups and the rows of all groups."""
    read = metrics.registry.get_sample_value
    return read("memex_write_group_rows_count") or 0, read("memex_write_group_rows_sum") or 0


async def test_a_write_shows_what_was_stored(writes: Writes):
    told = datetime(2024, 5, 1, 10, 0, 0, 123, tzinfo=UTC)
    write = a_write(
        "Ana sails at noon. 中文 🚢", importance=1.25, tags=["a,b", " e "], metadata={"a": [1.5, None, "x"]},
        session_id="s", source="import", external_id="e", created_at=told, ttl_seconds=60,
    )  # fmt: skip
    written = await writes.write(write)
    memory = written.memory
    assert written.created
    assert (memory.id, memory.agent_id, memory.user_id) == (str(write.id), "agent", "ana")
    assert (memory.content, memory.importance, memory.memory_type) == (write.text.content, 1.25, "episodic")
    assert memory.created_at == "2024-05-01T10:00:00.000123Z"
    assert (memory.tags, memory.metadata) == (["a,b", " e "], {"a": [1.5, None, "x"]})
    assert (memory.session_id, memory.source, memory.external_id) == ("s", "import", "e")
    assert (memory.visibility, memory.state, memory.version, memory.score) == ("private", "active", 1, None)
    assert (memory.superseded_by, memory.duplicate_of) == (None, None)
    recorded = datetime.fromisoformat(memory.recorded_at)
    assert memory.updated_at == memory.recorded_at
    assert (datetime.fromisoformat(str(memory.expires_at)) - recorded).total_seconds() == 60


async def test_times_come_from_the_database_clock(writes: Writes, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write())).memory
    row = await (await gate.execute("SELECT clock_timestamp()")).fetchone()
    assert memory.created_at == memory.recorded_at
    assert row is not None
    assert datetime.fromisoformat(memory.created_at) <= row[0]


async def test_extreme_times_and_texts_survive(writes: Writes):
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    memory = (await writes.write(a_write("\U0010ffff" * 8000, created_at=first, expires_at=last))).memory
    assert (memory.created_at, memory.expires_at) == ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z")
    assert memory.content == "\U0010ffff" * 8000


async def test_writes_that_arrive_together_share_a_commit(
    writes: Writes, metrics: Metrics, gate: psycopg.AsyncConnection
):
    await writes.write(a_write())
    before = commits(metrics)
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write("first")))
    await someone_waits(gate)
    spaces = [Space("default", f"user-{n % 7}") for n in range(40)]
    rest = [asyncio.create_task(writes.write(a_write(f"text {n}", space=space))) for n, space in enumerate(spaces)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in (first, *rest))
    await gate.execute("COMMIT")
    written = await asyncio.gather(first, *rest)
    groups, stored = commits(metrics)
    assert (groups - before[0], stored - before[1]) == (2, 41)
    assert [w.memory.content for w in written] == ["first", *(f"text {n}" for n in range(40))]
    assert [w.memory.user_id for w in written[1:]] == [space.user_id for space in spaces]


@pytest.mark.parametrize(
    "poison",
    [{"importance": 9.0}, {"content": "a\0b"}, {"vectors": [vector(1.0)]}, {"term_counts": [1]}, {"tags": [""]}],
    ids=str,
)
async def test_a_poison_row_fails_alone(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection, poison: dict[str, Any]
):
    await writes.write(a_write())
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write("first")))
    await someone_waits(gate)
    good = [asyncio.create_task(writes.write(a_write(f"good {n}"))) for n in range(5)]
    bad = asyncio.create_task(writes.write(a_write(**poison)))
    more = [asyncio.create_task(writes.write(a_write(f"more {n}"))) for n in range(5)]
    await asyncio.sleep(0)
    await gate.execute("COMMIT")
    with pytest.raises(DataRefused):
        await bad
    written = await asyncio.gather(first, *good, *more)
    assert all(isinstance(w, Written) for w in written)
    assert await reads.count(SCOPE, "ana") == 12


async def test_what_has_no_binary_form_never_joins_a_group(writes: Writes):
    with pytest.raises(DataRefused):
        await writes.write(a_write(source="lone \ud800 surrogate"))
    with pytest.raises(DataRefused):
        await writes.write(a_write(term_counts=[1, 2**15]))
    with pytest.raises(DataRefused):
        await writes.write(a_write(vectors=[b"odd"]))


async def test_a_lost_connection_fails_the_group_and_stores_nothing(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection
):
    kept = await writes.write(a_write("acknowledged"))
    await hold(gate)
    lost = [asyncio.create_task(writes.write(a_write(f"lost {n}"))) for n in range(4)]
    pid = await someone_waits(gate)
    await gate.execute("SELECT pg_terminate_backend(%s)", [pid])
    outcomes = await asyncio.gather(*lost, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 4
    await gate.execute("COMMIT")
    after = await writes.write(a_write("after"))
    found = await reads.hits(SPACE, SCOPE, [UUID(w.memory.id).bytes for w in (kept, after)])
    assert sorted(memory.content for memory in found.memories.values()) == ["acknowledged", "after"]
    assert await reads.count(SCOPE, "ana") == 2


async def test_a_caller_who_leaves_takes_nobody_along(writes: Writes, reads: Reads, gate: psycopg.AsyncConnection):
    await writes.write(a_write())
    await hold(gate)
    started = asyncio.create_task(writes.write(a_write("started")))
    await someone_waits(gate)
    queued = asyncio.create_task(writes.write(a_write("queued")))
    stays = asyncio.create_task(writes.write(a_write("stays")))
    await asyncio.sleep(0)
    for task in (started, queued):
        task.cancel()
    await asyncio.gather(started, queued, return_exceptions=True)
    await gate.execute("COMMIT")
    assert (await stays).memory.content == "stays"
    async with reads.load(SPACE) as snapshot:
        ids = list(await everything(snapshot))
        texts = [memory.content for memory in (await snapshot.memories(SCOPE, ids)).values()]
    assert sorted(texts) == ["The harbour opens at six.", "started", "stays"]


async def test_a_full_queue_refuses_at_once(
    writes: Writes, gate: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writes_module, "WAITING", 2)
    await writes.write(a_write())
    await hold(gate)
    tasks = [asyncio.create_task(writes.write(a_write()))]
    await someone_waits(gate)
    tasks += [asyncio.create_task(writes.write(a_write())) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded) as refusal:
        await writes.write(a_write())
    assert refusal.value.retry_after == 1
    await gate.execute("COMMIT")
    await asyncio.gather(*tasks)


async def test_closing_commits_what_waits_and_takes_no_more(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection
):
    await writes.write(a_write())
    await hold(gate)
    tasks = [asyncio.create_task(writes.write(a_write(f"text {n}"))) for n in range(3)]
    await someone_waits(gate)
    closing = asyncio.create_task(writes.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await writes.write(a_write())
    await gate.execute("COMMIT")
    await closing
    assert all(isinstance(w, Written) for w in await asyncio.gather(*tasks))
    assert await reads.count(SCOPE, "ana") == 4


async def test_a_database_that_does_not_answer_costs_the_command_timeout_and_no_more(
    pool: Pool, metrics: Metrics, gate: psycopg.AsyncConnection
):
    impatient = Writes(pool, metrics, 0.05)
    impatient.start()
    await impatient.write(a_write())
    await hold(gate)
    with pytest.raises(StoreUnavailable):
        await impatient.write(a_write())
    await gate.execute("COMMIT")
    await impatient.close()


async def test_an_external_id_met_again_changes_nothing(writes: Writes, reads: Reads):
    first = await writes.write(a_write("first", external_id="e-1"))
    again = await writes.write(a_write("second", external_id="e-1"))
    assert (first.created, again.created) == (True, False)
    assert again.memory == first.memory
    assert await reads.count(SCOPE, "ana") == 1
    for other in ({"agent_id": "other"}, {"space": Space("default", "ben")}, {"external_id": "e-2"}):
        fields = {"external_id": "e-1"} | other
        assert (await writes.write(a_write("third", **fields))).created


PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def test_an_external_id_is_free_again_when_its_memory_has_expired(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection
):
    old = await writes.write(a_write("tea", external_id="e", vectors=[vector(1, 0, 0, 0)] * 3))
    copy = await writes.write(a_write("tea"))
    await gate.execute(b"UPDATE memex.memories SET expires_at = '2020-01-01Z' WHERE external_id = 'e'")
    since = (await reads.hits(SPACE, SCOPE, [])).state
    new = await writes.write(a_write("coffee", external_id="e"))
    assert (new.created, new.memory.content, new.memory.external_id) == (True, "coffee", "e")
    again = await writes.write(a_write("milk", external_id="e"))
    assert (again.created, again.memory) == (False, new.memory)
    assert await reads.count(SCOPE, "ana") == 2
    async with reads.changes(SPACE, since) as changes:
        assert changes.removed == [UUID(old.memory.id).bytes]
        assert [row.id for row in changes.rows] == [UUID(new.memory.id).bytes]
        kept = await changes.memories(SCOPE, [UUID(copy.memory.id).bytes])
    assert [memory.duplicate_of for memory in kept.values()] == [None]
    assert await counts(gate) == (2, 2, 2)


@pytest.mark.parametrize("state", ["archived", "superseded"])
async def test_what_can_be_restored_keeps_its_external_id(writes: Writes, gate: psycopg.AsyncConnection, state: str):
    old = await writes.write(a_write("tea", external_id="e"))
    await gate.execute("UPDATE memex.memories SET state = %s WHERE external_id = 'e'", [state])
    again = await writes.write(a_write("coffee", external_id="e"))
    assert (again.created, again.memory.id, again.memory.state) == (False, old.memory.id, state)


async def test_an_expired_memory_makes_way_within_one_group(writes: Writes, gate: psycopg.AsyncConnection):
    await writes.write(a_write())
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write()))
    await someone_waits(gate)
    ends = [PAST, PAST, None, PAST]
    given = [a_write(f"{n}", external_id="e", expires_at=end) for n, end in enumerate(ends)]
    tasks = [asyncio.create_task(writes.write(write)) for write in given]
    await asyncio.sleep(0)
    await gate.execute("COMMIT")
    await first
    written = await asyncio.gather(*tasks)
    assert [(w.created, w.memory.content) for w in written] == [(True, "0"), (True, "1"), (True, "2"), (False, "2")]
    assert await counts(gate) == (3, 3, 3)


async def counts(gate: psycopg.AsyncConnection) -> tuple[int, int, int]:
    """Memories and vectors by the space's own account, and the vectors that are there."""
    query = "SELECT memory_count, vector_count, (SELECT count(*) FROM memex.memory_vectors) FROM memex.spaces"
    row = await (await gate.execute(query)).fetchone()
    assert row is not None
    return row


async def test_an_external_id_twice_in_one_group_is_one_memory(writes: Writes, gate: psycopg.AsyncConnection):
    await writes.write(a_write())
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write()))
    await someone_waits(gate)
    tasks = [asyncio.create_task(writes.write(a_write(f"{n}", external_id="same"))) for n in range(4)]
    await asyncio.sleep(0)
    await gate.execute("COMMIT")
    await first
    written = await asyncio.gather(*tasks)
    assert [w.created for w in written] == [True, False, False, False]
    assert {w.memory.content for w in written} == {"0"}


async def test_an_external_id_raced_from_two_pools_is_one_memory(
    writes: Writes, reads: Reads, database: str, settings: Database
):
    metrics = Metrics()
    async with asyncio.timeout(60):
        pool = Pool(database, settings, metrics)
        await pool.open()
        others = Writes(pool, metrics, 20.0)
        others.start()
        for n in range(30):
            pair = [w.write(a_write(f"text {n}", external_id=f"e-{n}")) for w in (writes, others)]
            written = await asyncio.gather(*pair)
            assert sorted(w.created for w in written) == [False, True]
            assert written[0].memory.id == written[1].memory.id
        await others.close()
        await pool.close()
    assert await reads.count(SCOPE, "ana") == 30


async def test_duplicates_name_the_earliest_live_one(writes: Writes):
    first, second = [(await writes.write(a_write("tea"))).memory for _ in range(2)]
    assert (first.duplicate_of, second.duplicate_of) == (None, first.id)
    for other in ({"agent_id": "other"}, {"space": Space("default", "ben")}, {"content_hash": bytes(32)}):
        assert (await writes.write(a_write("tea", **other))).memory.duplicate_of is None
    gone = (await writes.write(a_write("coffee", expires_at=datetime(2020, 1, 1, tzinfo=UTC)))).memory
    assert (await writes.write(a_write("coffee"))).memory.duplicate_of is None
    assert gone.expires_at == "2020-01-01T00:00:00.000000Z"


async def test_copies_of_a_deleted_memory_name_the_next_one(writes: Writes, reads: Reads):
    first, second, third = [(await writes.write(a_write("tea"))).memory for _ in range(3)]
    await writes.delete(SCOPE, UUID(first.id), "ana")
    found = await reads.hits(SPACE, SCOPE, [UUID(m.id).bytes for m in (first, second, third)])
    assert {m.id: m.duplicate_of for m in found.memories.values()} == {second.id: None, third.id: second.id}


async def test_a_delete_takes_all_of_a_memory(writes: Writes, reads: Reads, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write(vectors=[vector(1, 0, 0, 0)] * 3))).memory
    query = "SELECT memory_count, vector_count FROM memex.spaces"
    assert await (await gate.execute(query)).fetchone() == (1, 3)
    await writes.delete(SCOPE, UUID(memory.id), "ana")
    assert await (await gate.execute(query)).fetchone() == (0, 0)
    assert await (await gate.execute("SELECT count(*) FROM memex.memory_vectors")).fetchone() == (0,)
    assert (await reads.hits(SPACE, SCOPE, [UUID(memory.id).bytes])).memories == {}
    with pytest.raises(NotFound):
        await writes.delete(SCOPE, UUID(memory.id), "ana")


async def test_a_delete_without_user_finds_the_space(writes: Writes, reads: Reads):
    memory = (await writes.write(a_write())).memory
    await writes.delete(SCOPE, UUID(memory.id), None)
    assert await reads.count(SCOPE, "ana") == 0


@pytest.mark.parametrize(
    ("scope", "user_id"),
    [
        (SCOPE, "ben"),
        (Scope("default", "other", None), "ana"),
        (Scope("default", "other", None), None),
        (Scope("elsewhere", "agent", None), "ana"),
        (Scope("elsewhere", "agent", None), None),
    ],
)
async def test_nobody_deletes_what_is_not_theirs(writes: Writes, reads: Reads, scope: Scope, user_id: str | None):
    memory = (await writes.write(a_write(visibility=Visibility.SHARED))).memory
    with pytest.raises(NotFound):
        await writes.delete(scope, UUID(memory.id), user_id)
    assert await reads.count(SCOPE, "ana") == 1


async def test_deleting_makes_no_space(writes: Writes, gate: psycopg.AsyncConnection):
    with pytest.raises(NotFound):
        await writes.delete(SCOPE, new_id(), "nobody")
    assert await (await gate.execute("SELECT count(*) FROM memex.spaces")).fetchone() == (0,)


async def test_of_two_who_delete_the_same_memory_one_did(writes: Writes):
    memory = (await writes.write(a_write())).memory
    both = [writes.delete(SCOPE, UUID(memory.id), "ana") for _ in range(2)]
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] in ([bool, NotFound], [NotFound, bool])


async def test_a_key_of_somebody_else_is_refused(writes: Writes, reads: Reads, gate: psycopg.AsyncConnection):
    await writes.write(a_write())
    await gate.execute("UPDATE memex.spaces SET user_id = 'the other'")
    with pytest.raises(StoreFault):
        await writes.write(a_write())
    found = await reads.hits(SPACE, SCOPE, [])
    assert found.state is None
    assert await reads.count(SCOPE, "ana") == 0
    row = await (await gate.execute("SELECT user_id, memory_count, version FROM memex.spaces")).fetchone()
    assert row == ("the other", 1, 1)


async def test_vectors_of_another_model_are_refused(writes: Writes):
    with pytest.raises(DataRefused):
        await writes.write(a_write(model_id="another"))
