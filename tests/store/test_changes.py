"""Changes in groups: order, conditions, poison, lost connections, the counts of a space, and what is kept of before."""

import asyncio
import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memex.errors import MemexError, NotFound, StoreUnavailable, VersionConflict
from memex.metrics import Metrics
from memex.model import Memory, Scope, Space, State, Visibility
from memex.settings import Database
from memex.store import Change, Changed, Expiry, Pool, Reads, Writes
from memex.store.faults import DataRefused
from tests.store.gates import hold, someone_waits
from tests.store.making import MODEL, SCOPE, SPACE, a_text, a_write, new_id, vector

LAST = 2**31 - 1


def a_change(memory: Memory, **changed: Any) -> Change:
    """A change of a memory of the usual agent."""
    fields: dict[str, Any] = {"space": SPACE, "id": UUID(memory.id), "agent_id": "agent", "model_id": MODEL.id}
    return Change(**fields | changed)


async def together(writes: Writes, gate: psycopg.AsyncConnection, *acts: Callable[[], Any]) -> list[Any]:
    """Outcomes of what was asked for at once, in one group behind another write; of changes the memory."""
    await hold(gate)
    first = asyncio.create_task(writes.write(a_write("first of all")))
    await someone_waits(gate)
    tasks = [asyncio.ensure_future(act()) for act in acts]
    await asyncio.sleep(0)
    await gate.execute("COMMIT")
    await first
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    return [outcome.memory if isinstance(outcome, Changed) else outcome for outcome in outcomes]


async def rows(gate: psycopg.AsyncConnection, query: str) -> list[Any]:
    return await (await gate.execute(query.encode())).fetchall()


async def counts(gate: psycopg.AsyncConnection) -> tuple[int, int, int, int]:
    """Memories and vectors by the space's own account, and those that are there."""
    query = (
        "SELECT memory_count, vector_count, (SELECT count(*) FROM memex.memories),"
        " (SELECT count(*) FROM memex.memory_vectors) FROM memex.spaces"
    )
    (found,) = await rows(gate, query)
    memories, vectors, there, vectors_there = found
    return memories, vectors, there, vectors_there


async def test_changes_of_one_memory_in_one_group_are_applied_in_order_each_on_its_condition(
    writes: Writes, gate: psycopg.AsyncConnection
):
    memory = (await writes.write(a_write("tea"))).memory
    outcomes = await together(
        writes,
        gate,
        lambda: writes.change(a_change(memory, importance=0.1, versions=(1,))),
        lambda: writes.change(a_change(memory, importance=0.2, versions=(1,))),
        lambda: writes.change(a_change(memory, importance=0.3, versions=(1, 2))),
        lambda: writes.change(a_change(memory, importance=0.3)),
        lambda: writes.change(a_change(memory, tags=["x"], versions=())),
        lambda: writes.change(a_change(memory, state=State.ARCHIVED, versions=(3,))),
    )
    told = [outcome.version if isinstance(outcome, Memory) else type(outcome) for outcome in outcomes]
    assert told == [2, VersionConflict, 3, 3, VersionConflict, 4]
    kept = await rows(gate, "SELECT version, importance, state FROM memex.memory_versions ORDER BY version")
    assert kept == [(1, 1.0, "active"), (2, 0.1, "active"), (3, 0.3, "active")]


async def test_writes_changes_and_deletes_share_a_commit(
    writes: Writes, metrics: Metrics, gate: psycopg.AsyncConnection
):
    kept, gone = [(await writes.write(a_write(text))).memory for text in ("tea", "milk")]
    other = (await writes.write(a_write("wine", space=Space("default", "ben")))).memory
    read = metrics.registry.get_sample_value
    before = read("memex_write_group_rows_count") or 0
    outcomes = await together(
        writes,
        gate,
        lambda: writes.delete(SCOPE, UUID(gone.id), "ana"),
        lambda: writes.change(a_change(gone, importance=0.5)),
        lambda: writes.change(a_change(kept, text=a_text("coffee"))),
        lambda: writes.write(a_write("juice")),
        lambda: writes.change(a_change(other, space=Space("default", "ben"), importance=0.25)),
        lambda: writes.change(a_change(kept, agent_id="other", importance=0.5)),
        lambda: writes.change(a_change(other, importance=0.75)),
    )
    assert (read("memex_write_group_rows_count") or 0) - before == 2
    assert [type(outcome) for outcome in outcomes[5:]] == [NotFound, NotFound]
    assert (outcomes[0], outcomes[1].version, outcomes[2].content, outcomes[4].importance) == (False, 2, "coffee", 0.25)
    assert await rows(gate, "SELECT content FROM memex.memory_versions ORDER BY content") == [("tea",), ("wine",)]


@pytest.mark.parametrize(
    "poison",
    [
        {"importance": 9.0},
        {"tags": [""]},
        {"text": a_text("a\0b")},
        {"text": a_text("x", vectors=[vector(1.0)])},
        {"text": a_text("x", term_counts=[1])},
        {"text": a_text("x", model_id="another"), "model_id": "another"},
    ],
    ids=["number", "tag", "zero byte", "dimensions", "terms", "model"],
)
async def test_a_poison_change_fails_alone_and_leaves_its_memory_as_it_was(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection, poison: dict[str, Any]
):
    memories = [(await writes.write(a_write(f"text {n}"))).memory for n in range(3)]
    outcomes = await together(
        writes,
        gate,
        lambda: writes.change(a_change(memories[0], importance=0.5)),
        lambda: writes.change(a_change(memories[1], **poison)),
        lambda: writes.write(a_write("new")),
        lambda: writes.change(a_change(memories[2], text=a_text("another text"))),
        lambda: writes.change(a_change(memories[1], tags=["good"], versions=(1,))),
    )
    assert isinstance(outcomes[1], DataRefused)
    assert [outcomes[0].version, outcomes[3].content, outcomes[4].version] == [2, "another text", 2]
    assert (await reads.memory(SCOPE, UUID(memories[1].id), None)) == outcomes[4]
    assert await rows(gate, "SELECT count(*) FROM memex.memory_versions") == [(3,)]


async def test_a_lost_connection_changes_nothing(writes: Writes, reads: Reads, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write("tea"))).memory
    await hold(gate)
    lost = asyncio.create_task(writes.change(a_change(memory, text=a_text("coffee"))))
    pid = await someone_waits(gate)
    await gate.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(StoreUnavailable):
        await lost
    await gate.execute("COMMIT")
    assert await reads.memory(SCOPE, UUID(memory.id), "ana") == memory
    assert (await writes.change(a_change(memory, text=a_text("coffee")))).memory.content == "coffee"


async def test_of_two_processes_that_change_one_version_one_does(
    writes: Writes, database: str, settings: Database, reads: Reads
):
    metrics = Metrics()
    pool = Pool(database, settings, metrics)
    await pool.open()
    others = Writes(pool, metrics, 20.0)
    others.start()
    memory = (await writes.write(a_write("tea"))).memory
    for number in range(30):
        pair = [
            each.change(a_change(memory, importance=number / 40 + at / 100, versions=(number + 1,)))
            for at, each in enumerate((writes, others))
        ]
        outcomes = await asyncio.gather(*pair, return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Changed", "VersionConflict"]
    found = await reads.history(SCOPE, UUID(memory.id), None, 100, LAST)
    assert [version.version for version in found.versions] == list(range(31, 0, -1))
    await others.close()
    await pool.close()


async def test_a_clock_that_goes_back_makes_no_version_that_never_was(writes: Writes, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write("tea"))).memory
    await gate.execute("UPDATE memex.memories SET recorded_at = now() + '1 day', updated_at = now() + '1 day'")
    changed = (await writes.change(a_change(memory, importance=0.5))).memory
    (row,) = await rows(gate, "SELECT valid_to - valid_from, valid_to FROM memex.memory_versions")
    assert row[0].total_seconds() == 1e-6
    assert changed.updated_at == row[1].isoformat(timespec="microseconds").replace("+00:00", "Z")


async def test_an_earlier_version_is_kept_whole(writes: Writes, gate: psycopg.AsyncConnection):
    """Whatever column is added to memories has to be kept too."""
    write = a_write(
        "tea", importance=0.5, tags=["a"], metadata={"k": 1}, session_id="s", source="o", external_id="e",
        visibility=Visibility.SHARED, ttl_seconds=3600, vectors=[vector(1, 0, 0, 0), vector(0, 1, 0, 0)],
    )  # fmt: skip
    memory = (await writes.write(write)).memory
    await gate.execute("CREATE TABLE public.before AS SELECT * FROM memex.memories")
    fields: dict[str, Any] = {
        "importance": 1.5, "tags": [], "metadata": {}, "visibility": Visibility.PRIVATE, "expiry": Expiry(),
        "state": State.ARCHIVED, "text": a_text("coffee", terms=[5], term_counts=[9]),
    }  # fmt: skip
    await writes.change(a_change(memory, **fields))
    ((before,),) = await rows(gate, "SELECT to_jsonb(b) - 'space_version' FROM public.before AS b")
    ((kept,),) = await rows(
        gate, "SELECT to_jsonb(v) - '{valid_to,model_id,vectors}'::text[] FROM memex.memory_versions AS v"
    )
    renamed = {"id": "memory_id", "updated_at": "valid_from"}
    assert kept == {renamed.get(name, name): value for name, value in before.items()}
    assert await rows(gate, "SELECT model_id, vectors::text[] FROM memex.memory_versions") == [
        (MODEL.id, ["[1,0,0,0]", "[0,1,0,0]"])
    ]
    vectors = await rows(gate, "SELECT memory_version, chunk FROM memex.memory_vectors")
    assert vectors == [(2, 0)]


async def test_a_change_that_changes_nothing_tells_the_index_nothing(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection
):
    memory = (await writes.write(a_write("tea", tags=["a"], metadata={"n": 1}))).memory
    since = (await reads.hits(SPACE, SCOPE, [])).state
    text = a_text("tea", vectors=[vector(1, 0, 0, 0)])
    alike: list[dict[str, Any]] = [
        {"importance": 1.0}, {"tags": ["a"]}, {"metadata": {"n": 1}}, {"text": text}, {"state": State.ACTIVE}, {},
    ]  # fmt: skip
    for same in alike:
        assert await writes.change(a_change(memory, **same)) == Changed(memory)
    for refused in ({"versions": (2,)}, {"id": new_id()}, {"agent_id": "other"}):
        with pytest.raises((NotFound, VersionConflict)):
            await writes.change(a_change(memory, importance=0.5, **refused))
    with pytest.raises(NotFound):
        await writes.delete(SCOPE, new_id(), "ana")
    assert (await reads.hits(SPACE, SCOPE, [])).state == since
    assert await rows(gate, "SELECT count(*) FROM memex.memory_versions") == [(0,)]


async def test_changes_that_share_a_commit_are_one_version_of_the_space(
    writes: Writes, reads: Reads, gate: psycopg.AsyncConnection
):
    first, second = [(await writes.write(a_write(text))).memory for text in ("tea", "milk")]
    since = (await reads.hits(SPACE, SCOPE, [])).state
    await together(
        writes,
        gate,
        lambda: writes.change(a_change(first, importance=1.0)),
        lambda: writes.change(a_change(first, importance=0.5)),
        lambda: writes.change(a_change(second, text=a_text("wine", vectors=[vector(1, 0, 0, 0)] * 2))),
    )
    async with reads.changes(SPACE, since) as changes:
        assert {row.id for row in changes.rows} > {UUID(first.id).bytes, UUID(second.id).bytes}
        assert since is not None
        assert changes.state is not None
        assert changes.state.version == since.version + 2  # of which one is that of the write before them


async def test_what_is_equal_but_written_otherwise_is_shown_as_it_is_stored(writes: Writes, reads: Reads):
    memory = (await writes.write(a_write("tea", metadata={"n": 1}))).memory
    same = (await writes.change(a_change(memory, metadata={"n": 1.0}))).memory
    assert (same.version, repr(same.metadata)) == (1, "{'n': 1}")
    assert same == await reads.memory(SCOPE, UUID(memory.id), None)


async def test_what_was_superseded_stays_so(writes: Writes, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write("tea"))).memory
    await gate.execute("UPDATE memex.memories SET state = 'superseded'")
    for state in (State.ACTIVE, State.ARCHIVED):
        found = (await writes.change(a_change(memory, state=state))).memory
        assert (found.state, found.version) == ("superseded", 1)


async def test_changing_makes_no_space(writes: Writes, gate: psycopg.AsyncConnection):
    memory = (await writes.write(a_write("tea"))).memory
    for space in (Space("default", "nobody"), Space("elsewhere", "ana")):
        with pytest.raises(NotFound):
            await writes.change(a_change(memory, space=space, importance=0.5))
    assert await rows(gate, "SELECT count(*) FROM memex.spaces") == [(1,)]
    with pytest.raises(NotFound):
        await writes.change(a_change(memory, id=new_id(), importance=0.5))


@pytest.mark.parametrize("seed", range(3))
async def test_any_order_of_steps_leaves_counts_pointers_and_versions_right(
    writes: Writes, gate: psycopg.AsyncConnection, seed: int
):
    """Random writes, changes, archives, restores and deletes of a few texts, beside a model in memory."""
    chance = random.Random(seed)  # noqa: S311 - repeatable is what counts
    model: dict[str, Memory] = {}
    for _ in range(120):
        texts = ["tea", "milk", "wine"]
        text = a_text(
            chance.choice(texts), vectors=[vector(*(chance.random() for _ in range(4)))] * chance.randint(1, 3)
        )
        step = chance.choice(["write", "once", "text", "archive", "restore", "tags", "delete"])
        if step in ("write", "once") or not model:
            written = await writes.write(a_write(text.content, vectors=text.vectors, once=step == "once"))
            live = [m for m in model.values() if m.state == "active" and m.content == text.content]
            first = min(live, key=lambda m: m.recorded_at, default=None)
            assert written.created is (step == "write" or first is None)
            if not written.created:
                assert first is not None
                assert written.memory.id == first.id
            model[written.memory.id] = written.memory
            continue
        memory = chance.choice(list(model.values()))
        if step == "delete":
            await writes.delete(SCOPE, UUID(memory.id), "ana")
            del model[memory.id]
            continue
        steps: dict[str, dict[str, Any]] = {
            "text": {"text": text},
            "archive": {"state": State.ARCHIVED},
            "restore": {"state": State.ACTIVE},
            "tags": {"tags": [chance.choice("ab")]},
        }
        wanted = steps[step]
        model[memory.id] = (await writes.change(a_change(memory, **wanted, versions=(memory.version,)))).memory
    await check(gate, model)


async def check(gate: psycopg.AsyncConnection, model: dict[str, Memory]) -> None:
    """Whether the tables are as the model says."""
    memories, vectors, there, vectors_there = await counts(gate)
    assert (memories, vectors) == (there, vectors_there) == (len(model), vectors)
    found = {
        str(row[0]): row[1:]
        for row in await rows(gate, "SELECT id, content, state, version, duplicate_of FROM memex.memories")
    }
    assert {key: row[:3] for key, row in found.items()} == {
        key: (memory.content, memory.state, memory.version) for key, memory in model.items()
    }
    for key, memory in model.items():
        live = [m for m in model.values() if m.state == "active" and m.content == memory.content]
        first = min(live, key=lambda m: m.recorded_at, default=None)
        if memory.state == "active" and first is not None:
            assert found[key][3] == (None if first.id == key else UUID(first.id))
        pointer = found[key][3]
        assert pointer is None or model[str(pointer)].content == memory.content
    kept = await rows(gate, "SELECT memory_id, count(*), max(version) FROM memex.memory_versions GROUP BY 1")
    assert {str(row[0]): row[1:] for row in kept} == {
        key: (memory.version - 1,) * 2 for key, memory in model.items() if memory.version > 1
    }


@pytest.mark.parametrize("others", [(), None, ("agent",)])
async def test_a_stranger_reads_what_the_scope_says(writes: Writes, reads: Reads, others: tuple[str, ...] | None):
    private, shared = [
        (await writes.write(a_write(text, visibility=visibility))).memory
        for text, visibility in (("tea", Visibility.PRIVATE), ("milk", Visibility.SHARED))
    ]
    scope = Scope("default", "stranger", others)
    for memory, seen in ((private, False), (shared, others != ())):
        for read in (
            reads.memory(scope, UUID(memory.id), None),
            reads.history(scope, UUID(memory.id), "ana", 5, LAST),
        ):
            outcome = (await asyncio.gather(read, return_exceptions=True))[0]
            assert isinstance(outcome, MemexError) is not seen
