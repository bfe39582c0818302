"""What is read of a space: contents, the rows of its resident index, and what changed of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import UUID

import msgspec
from psycopg import AsyncCursor
from psycopg.rows import TupleRow

from memex.model import Condition, History, IndexRow, Memory, Scope, Space, SpaceState
from memex.store import paths, rows, wire
from memex.store.composites import RequestKey
from memex.store.connection import Connection
from memex.store.lookups import history, holder, locate, memory, seen_by
from memex.store.pool import Pool
from memex.store.queries import load
from memex.store.schema import COMPATIBILITY
from memex.store.streams import streams

HITS = load("hits")
MATCHING = load("matching")
STATE = load("state")
CHANGED = load("changed")
REMOVED = load("removed")
FIRST = load("first")
COUNT = load("count")
STANDING = load("standing")
SNAPSHOT = load("snapshot")
VECTORS = load("stored_vectors")
NEWEST = load("newest")

MOST_CHANGES = 20_000
"""Changes that are handed on one by one, unless fewer are wanted."""
PART_ROWS = 250
"""Rows that are decoded without a pause."""
FIRST_ROWS = 256
"""A smaller space comes whole in the round trip that opens its snapshot. Decoded in a few milliseconds of the loop."""


class Found(msgspec.Struct, frozen=True):
    """What one statement saw. `state` is None where the space does not exist."""

    state: SpaceState | None
    memories: dict[bytes, Memory]
    """By id, 16 bytes; those of the asked ids that the scope may see."""
    clock: int
    """The database's time in microseconds since 1970; 0 without a state."""


NOTHING = Found(None, {}, 0)


class Standing(msgspec.Struct, frozen=True):
    """What the whole database is like at this moment."""

    schema_known: bool
    """Whether this memex may still work with its schema."""
    model_id: str | None


class Changes:
    """One snapshot of a space, and what differs in it from a resident index.

    `reload` says that the difference cannot be told: then `rows` and `removed` are empty, and `beginning()` with
    `streams()` after it gives every row.
    """

    def __init__(self, pool: Pool, connection: Connection, space: Space) -> None:
        """On a connection that holds a snapshot."""
        self._pool = pool
        self._connection = connection
        self._space = space
        self.state: SpaceState | None = None
        self.clock = 0
        """The snapshot's time by the database's clock, in microseconds since 1970; 0 without a state."""
        self.memory_count = 0
        self.vector_count = 0
        self.reload = False
        self.rows: list[IndexRow] = []
        self.removed: list[bytes] = []
        self.first: list[IndexRow] | None = None
        """What `beginning()` gives, once it was read."""

    async def beginning(self) -> list[IndexRow]:
        """The first `FIRST_ROWS` rows of the space by id, of every agent and state."""
        if self.state is None:
            return []
        if self.first is None:
            self.first = await self._pool.within(self._connection, beginning, self._space)
        return self.first

    async def streams(self) -> AsyncIterator[bytes]:
        """What comes after the beginning, as `memex.store.streams` gives it; nothing where that was all."""
        first = await self.beginning()
        if len(first) == FIRST_ROWS:
            async for piece in streams(self._pool, self._connection, self._space, first[-1].id):
                yield piece

    async def matching(self, scope: Scope, conditions: Sequence[Condition]) -> bytes:
        """The ids of what the scope may see and all `conditions` hold for: 16 bytes each, ascending."""
        return await self._pool.within(self._connection, matching, self._space, scope, conditions)

    async def memories(self, scope: Scope, ids: Sequence[bytes], *, archived: bool = False) -> dict[bytes, Memory]:
        """The contents of those `ids` that the scope may see, in this snapshot."""
        return (await self._pool.within(self._connection, hits, self._space, scope, ids, archived)).memories


class Reads:
    """The reading half of the store."""

    def __init__(self, pool: Pool) -> None:
        """Takes a connection for each call."""
        self._pool = pool
        self.command_timeout = pool.command_timeout
        """Seconds that one call may take."""

    async def hits(self, space: Space, scope: Scope, ids: Sequence[bytes], *, archived: bool = False) -> Found:
        """One statement: the space's state and the contents of those `ids` that the scope may see and that live.

        `archived` says that archived memories count as living.
        """
        return await self._pool.run(hits, space, scope, ids, archived)

    def load(self, space: Space) -> AbstractAsyncContextManager[Changes]:
        """A snapshot for reading the whole space; what it begins with is there already."""
        return self.changes(space, None)

    @asynccontextmanager
    async def changes(self, space: Space, since: SpaceState | None, most: int = MOST_CHANGES) -> AsyncIterator[Changes]:
        """A snapshot with what changed after `since`; None asks for a reload, as more than `most` changes do."""
        async with self._pool.connection() as connection:
            changes = Changes(self._pool, connection, space)
            await self._pool.within(connection, begin, changes, space, since, most)
            yield changes
            await self._pool.within(connection, end)

    async def count(self, scope: Scope, user_id: str) -> int:
        """How many live memories the scope's own agent has of a user."""
        return await self._pool.run(count, Space(scope.tenant_id, user_id), scope.agent_id)

    async def owner(self, scope: Scope, memory_id: UUID) -> str:
        """The user whose memory it is. Raises NotFound where it is not one of the scope's own agent."""
        return await self._pool.run(locate, scope, memory_id)

    async def holder(self, tenant_id: str, memory_id: UUID, user_id: str | None, key: RequestKey | None) -> str:
        """The agent of a memory of the tenant, also of one that a request with this key deleted; of `user_id` if given.

        Raises NotFound.
        """
        return await self._pool.run(holder, tenant_id, memory_id, user_id, key)

    async def memory(self, scope: Scope, memory_id: UUID, user_id: str | None) -> Memory:
        """A memory that the scope may see, archived or not; of `user_id` where given. Raises NotFound."""
        return await self._pool.run(memory, scope, memory_id, user_id)

    async def history(self, scope: Scope, memory_id: UUID, user_id: str | None, limit: int, below: int) -> History:
        """The newest `limit` versions below `below` of those that the scope may see. Raises NotFound."""
        return await self._pool.run(history, scope, memory_id, user_id, limit, below)

    async def vectors(self, space: Space, agent_id: str, content_hash: bytes, model_id: str) -> list[bytes]:
        """The little-endian f16 vectors, one per chunk, of a text that the agent holds; none if it does not."""
        return await self._pool.run(vectors, space, agent_id, content_hash, model_id)

    async def newest(self, limit: int) -> list[str]:
        """The contents of the memories that were written last, of all tenants: for what only counts them."""
        return await self._pool.run(newest, limit)

    async def standing(self) -> Standing:
        """What the database holds now. Raises StoreUnavailable or Overloaded where it does not answer."""
        return await self._pool.run(standing)


def keys(space: Space) -> tuple[wire.Wire, wire.Wire, wire.Wire]:
    """The parameters $1 to $3 of `parts/space.sql`."""
    return (wire.int8(space.key), wire.text(space.tenant_id), wire.text(space.user_id))


async def hits(connection: Connection, space: Space, scope: Scope, ids: Sequence[bytes], archived: bool) -> Found:
    """The state and the contents; a space without any of the ids is one row of nulls."""
    parameters = (*keys(space), *seen_by(scope), wire.boolean(archived), wire.uuids(ids))
    found = await connection.fetch(HITS, parameters)
    if not found:
        return NOTHING
    at, user_id = rows.STATE_COLUMNS, space.user_id
    memories = {bytes.fromhex(row[at].replace("-", "")): rows.memory(user_id, row, at) for row in found if row[at]}
    return Found(rows.space_state(found[0]), memories, found[0][4])


async def matching(connection: Connection, space: Space, scope: Scope, conditions: Sequence[Condition]) -> bytes:
    """One value; null where there is none."""
    ((ids,),) = await connection.fetch(MATCHING, (*keys(space), *seen_by(scope), *paths.parameters(conditions)))
    return ids or b""


async def begin(connection: Connection, changes: Changes, space: Space, since: SpaceState | None, most: int) -> None:
    """Open the snapshot and fill `changes`, all in one round trip."""
    async with connection.pipeline():
        await connection.execute(SNAPSHOT)
        state = await connection.execute(STATE, keys(space), binary=True)
        if since is None:
            first = await ask_first(connection, space)
        else:
            after = (wire.int8(space.key), wire.int8(since.version), wire.int8(most))
            changed = await connection.execute(CHANGED, after, binary=True)
            removed = await connection.execute(REMOVED, after, binary=True)
    row = await state.fetchone()
    if row:
        changes.state, changes.clock = rows.space_state(row), row[4]
        changes.memory_count, changes.vector_count = row[5:]
    changes.reload = since is None or not follows(changes.state, since)
    if since is None:
        changes.first = [rows.index_row(row) for row in await first.fetchall()]
    elif changes.reload or max(changed.rowcount, removed.rowcount) > most:
        changes.reload = True
    else:
        await fill(changes, changed, removed)


async def fill(changes: Changes, changed: AsyncCursor[TupleRow], removed: AsyncCursor[TupleRow]) -> None:
    """The difference, decoded a part at a time: others have the event loop in between."""
    while part := await changed.fetchmany(PART_ROWS):
        changes.rows += [rows.index_row(row) for row in part]
        await asyncio.sleep(0)
    changes.removed = [row[0] for row in await removed.fetchall()]


def follows(state: SpaceState | None, since: SpaceState) -> bool:
    """Whether `state` came from `since` by changes that are all still known."""
    return (
        state is not None
        and state.epoch == since.epoch
        and state.model_id == since.model_id
        and state.floor_version <= since.version <= state.version
    )


async def end(connection: Connection) -> None:
    """Leave the snapshot."""
    await connection.execute(b"COMMIT")


async def beginning(connection: Connection, space: Space) -> list[IndexRow]:
    """The first rows, in a snapshot that was opened for something else."""
    return [rows.index_row(row) for row in await (await ask_first(connection, space)).fetchall()]


async def ask_first(connection: Connection, space: Space) -> AsyncCursor[TupleRow]:
    """Where the first rows will be."""
    return await connection.execute(FIRST, (wire.int8(space.key), wire.int8(FIRST_ROWS)), binary=True)


async def count(connection: Connection, space: Space, agent_id: str) -> int:
    """The number of one agent's live memories."""
    found = await connection.fetch(COUNT, (*keys(space), wire.text(agent_id)))
    return int(found[0][0])


async def vectors(
    connection: Connection, space: Space, agent_id: str, content_hash: bytes, model_id: str
) -> list[bytes]:
    """The array of one row, if there is one."""
    text = (wire.text(agent_id), wire.Wire(wire.BYTEA, content_hash), wire.text(model_id))
    found = await connection.fetch(VECTORS, (*keys(space), *text))
    return list(found[0][0]) if found else []


async def newest(connection: Connection, limit: int) -> list[str]:
    """One column."""
    return [row[0] for row in await connection.fetch(NEWEST, (wire.int8(limit),))]


async def standing(connection: Connection) -> Standing:
    """One cheap statement."""
    ((number, model_id),) = await connection.fetch(STANDING, ())
    return Standing(number <= COMPATIBILITY, model_id)
