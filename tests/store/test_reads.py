"""Hits, whole spaces, what changed, counts: each sees one moment and what the scope may see."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from memex.model import IndexRow, Scope, Space, SpaceState, Visibility, content_hash
from memex.store import reads as reads_module
from memex.store import streams as streams_module
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.oracles import copying
from tests.oracles.copying import everything, joined
from tests.store.making import MODEL, SCOPE, SPACE, a_write, new_id, vector

PAST = datetime(2020, 1, 1, tzinfo=UTC)


def key(memory_id: str) -> bytes:
    return UUID(memory_id).bytes


async def stored(writes: Writes, *contents: str) -> list[bytes]:
    return [key((await writes.write(a_write(content))).memory.id) for content in contents]


def execute(database: str, statement: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())


async def test_hits_bring_contents_and_state_at_once(writes: Writes, reads: Reads):
    written = [await writes.write(a_write(f"text {n}", tags=["t"])) for n in range(3)]
    found = await reads.hits(SPACE, SCOPE, [key(written[2].memory.id), key(written[0].memory.id), new_id().bytes])
    assert found.memories == {key(w.memory.id): w.memory for w in (written[0], written[2])}
    assert found.state is not None
    assert (found.state.version, found.state.floor_version, found.state.model_id) == (3, 0, MODEL.id)
    recorded = datetime.fromisoformat(written[2].memory.recorded_at)
    assert found.clock >= int(recorded.timestamp() * 1_000_000) - 1


async def test_hits_of_nothing_still_bring_the_state(writes: Writes, reads: Reads):
    await writes.write(a_write())
    assert (await reads.hits(SPACE, SCOPE, [])).state is not None
    assert await reads.hits(Space("default", "nobody"), SCOPE, [bytes(16)]) == reads_module.NOTHING


@pytest.mark.parametrize(
    ("space", "scope"),
    [
        (SPACE, Scope("default", "other")),
        (Space("default", "ben"), SCOPE),
        (Space("elsewhere", "ana"), Scope("elsewhere", "agent", None)),
    ],
)
async def test_hits_show_nothing_outside_the_scope(writes: Writes, reads: Reads, space: Space, scope: Scope):
    await writes.write(a_write(space=space, agent_id="third"))
    (outside,) = await stored(writes, "mine")
    assert (await reads.hits(space, scope, [outside])).memories == {}


@pytest.mark.parametrize(
    ("others", "seen"), [((), "a"), (("b",), "ab"), (("c", "b", "a"), "abc"), (("d",), "a"), (None, "abc")]
)
async def test_a_scope_is_the_own_memories_and_what_others_share(
    writes: Writes, reads: Reads, others: tuple[str, ...] | None, seen: str
):
    written = [
        (await writes.write(a_write(f"{agent}{n}", agent_id=agent, visibility=visibility))).memory
        for agent, visibilities in (("a", Visibility), ("b", Visibility), ("c", Visibility), ("d", ["private"] * 2))
        for n, visibility in enumerate(visibilities)
    ]
    found = await reads.hits(SPACE, Scope("default", "a", others), [key(memory.id) for memory in written])
    assert {memory.content for memory in found.memories.values()} == {"a0"} | {f"{agent}1" for agent in seen}


async def test_what_a_memory_says_of_others_is_for_its_own_agent(writes: Writes, reads: Reads, database: str):
    first, _ = await stored(writes, "same", "another")
    copy = key((await writes.write(a_write("same", visibility=Visibility.SHARED))).memory.id)
    execute(database, "UPDATE memex.memories SET superseded_by = duplicate_of")
    own = (await reads.hits(SPACE, Scope("default", "agent", None), [copy])).memories[copy]
    other = (await reads.hits(SPACE, Scope("default", "other", None), [copy])).memories[copy]
    assert (own.duplicate_of, own.superseded_by) == (str(UUID(bytes=first)),) * 2
    assert (other.duplicate_of, other.superseded_by) == (None, None)
    assert msgspec.structs.replace(own, duplicate_of=None, superseded_by=None) == other


async def test_only_live_memories_are_shown_and_counted(writes: Writes, reads: Reads, database: str):
    live, archived = await stored(writes, "live", "archived")
    expired = key((await writes.write(a_write("expired", expires_at=PAST))).memory.id)
    execute(database, "UPDATE memex.memories SET state = 'archived' WHERE content = 'archived'")
    ids = [live, archived, expired]
    assert set((await reads.hits(SPACE, SCOPE, ids)).memories) == {live}
    assert set((await reads.hits(SPACE, SCOPE, ids, archived=True)).memories) == {live, archived}
    assert await reads.count(SCOPE, "ana") == 1


async def test_the_count_is_of_the_own_agent_and_user(writes: Writes, reads: Reads):
    await stored(writes, "one", "two")
    await writes.write(a_write(agent_id="other", visibility=Visibility.SHARED))
    await writes.write(a_write(space=Space("default", "ben")))
    assert await reads.count(Scope("default", "agent", None), "ana") == 2
    assert await reads.count(SCOPE, "nobody") == 0


async def test_a_large_space_comes_as_a_beginning_and_pairs_of_streams(
    writes: Writes, reads: Reads, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reads_module, "FIRST_ROWS", 1)
    monkeypatch.setattr(streams_module, "WINDOW_ROWS", 2)
    monkeypatch.setattr(streams_module, "PIECE", 100)
    await stored(writes, "zero")
    told = datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC)
    vectors = [vector(0.25, -1, 0, 3), vector(1, 2, 3, 4)]
    rest: dict[str, Any] = {"terms": [-(2**31), 2**31 - 1], "importance": 0.3, "tags": ["b", "a"], "source": "chat"}
    write = a_write("x", created_at=told, expires_at=PAST, vectors=vectors, **rest)
    first = key((await writes.write(write)).memory.id)
    bare = key((await writes.write(a_write("y", vectors=[], terms=[], term_counts=[]))).memory.id)
    others = await stored(writes, *"abc")
    await writes.write(a_write(space=Space("default", "ben")))
    async with reads.load(SPACE) as snapshot:
        assert (snapshot.reload, snapshot.rows, snapshot.removed) == (True, [], [])
        assert (snapshot.memory_count, snapshot.vector_count) == (6, 6)
        assert len(await snapshot.beginning()) == 1
        data = await joined(snapshot.streams())
        assert await joined(snapshot.streams()) == data
    # The last pair is of the end of the space, and may be empty.
    assert [len(stream) for stream in copying.streams(data)] == [2, 2, 2, 2, 1, 1]
    rows = {row.id: row for row in copying.rows(data)}
    assert list(rows) == [first, bare, *others]
    assert rows[first] == IndexRow(
        first, "agent", "episodic", "private", "active", ["b", "a"], None, "chat", content_hash("x"), 0.3, -999_995,
        1_577_836_800_000_000,
        [-(2**31), 2**31 - 1], [1, 2], vectors,
    )  # fmt: skip
    assert (rows[bare].vectors, rows[bare].terms, rows[bare].expires_at) == ([], [], None)


async def test_an_unknown_space_is_empty(reads: Reads):
    async with reads.load(Space("default", "nobody")) as snapshot:
        assert snapshot.state is None
        assert await everything(snapshot) == {}
        assert await snapshot.memories(SCOPE, [bytes(16)]) == {}


async def test_changes_are_what_came_after(writes: Writes, reads: Reads):
    first, second = await stored(writes, "first", "second")
    async with reads.load(SPACE) as snapshot:
        state = snapshot.state
    (third,) = await stored(writes, "third")
    await writes.delete(SCOPE, UUID(bytes=first), "ana")
    async with reads.changes(SPACE, state) as changes:
        assert not changes.reload
        assert [row.id for row in changes.rows] == [third]
        assert changes.removed == [first]
        contents = await changes.memories(SCOPE, [first, second, third])
        assert {m.content for m in contents.values()} == {"second", "third"}
        now = changes.state
    async with reads.changes(SPACE, now) as changes:
        assert (changes.reload, changes.rows, changes.removed, changes.state) == (False, [], [], now)


@pytest.mark.parametrize("deleted", [False, True])
async def test_more_changes_than_are_wanted_are_loaded_anew(writes: Writes, reads: Reads, deleted: bool):
    ids = await stored(writes, "first", "second", "third")
    state = await state_of(reads)
    changed = ids if deleted else await stored(writes, "fourth", "fifth", "sixth")
    for memory_id in ids if deleted else ():
        await writes.delete(SCOPE, UUID(bytes=memory_id), "ana")
    async with reads.changes(SPACE, state, 3) as changes:
        assert not changes.reload
        assert sorted(changes.removed or [row.id for row in changes.rows]) == sorted(changed)
    async with reads.changes(SPACE, state, 2) as changes:
        assert (changes.reload, changes.rows, changes.removed) == (True, [], [])
        assert set(await everything(changes)) == ({*ids, *changed} if not deleted else set())


async def test_changes_and_contents_are_of_one_moment(writes: Writes, reads: Reads):
    (first,) = await stored(writes, "first")
    async with reads.load(SPACE) as snapshot:
        (second,) = await stored(writes, "second")
        await writes.delete(SCOPE, UUID(bytes=first), "ana")
        assert set(await everything(snapshot)) == {first}
        assert set(await snapshot.memories(SCOPE, [first, second])) == {first}


async def state_of(reads: Reads) -> SpaceState:
    state = (await reads.hits(SPACE, SCOPE, [])).state
    assert state is not None
    return state


@pytest.mark.parametrize(
    "trouble",
    [
        "UPDATE memex.spaces SET epoch = epoch + 1",
        "UPDATE memex.spaces SET version = 1",
        "UPDATE memex.models SET is_current = false",
        "DELETE FROM memex.spaces",
    ],
)
async def test_what_cannot_be_told_apart_is_loaded_anew(writes: Writes, reads: Reads, database: str, trouble: str):
    await stored(writes, "first", "second")
    state = await state_of(reads)
    execute(database, trouble)
    async with reads.changes(SPACE, state) as changes:
        assert changes.reload
        assert (changes.rows, changes.removed) == ([], [])
        assert len(await everything(changes)) == (0 if "DELETE" in trouble else 2)


async def test_a_purge_makes_older_residents_load_anew(writes: Writes, reads: Reads, database: str):
    first, second = await stored(writes, "first", "second")
    before = await state_of(reads)
    await writes.delete(SCOPE, UUID(bytes=first), "ana")
    after = await state_of(reads)
    await writes.delete(SCOPE, UUID(bytes=second), "ana")
    with psycopg.connect(database, autocommit=True) as connection:
        middle = connection.execute("SELECT deleted_at FROM memex.tombstones ORDER BY 1 DESC LIMIT 1").fetchone()
        assert middle is not None
        purge = "SELECT memex.memex_purge(%s, %s)"
        assert connection.execute(purge, [SPACE.key, middle[0]]).fetchone() == (1,)
        assert connection.execute(purge, [SPACE.key, middle[0]]).fetchone() == (0,)
    for state, reload in ((before, True), (after, False)):
        async with reads.changes(SPACE, state) as changes:
            assert changes.reload is reload
            assert changes.removed == ([] if reload else [second])


async def test_a_reader_who_leaves_half_way_leaves_the_pool_whole(writes: Writes, reads: Reads, pool: Pool):
    await stored(writes, "one")
    inside = asyncio.Event()

    async def reader() -> None:
        async with reads.load(SPACE):
            inside.set()
            await asyncio.Event().wait()

    for _ in range(5):
        inside.clear()
        task = asyncio.create_task(reader())
        await inside.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert await asyncio.gather(*[reads.count(SCOPE, "ana") for _ in range(20)]) == [1] * 20


async def test_standing_tells_of_the_whole_database(reads: Reads):
    standing = await reads.standing()
    assert standing.schema_known
    assert standing.model_id
