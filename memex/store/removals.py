"""What a removal is about: which memories of an agent, found piece by piece, and what its key says of it."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from memex.errors import IdempotencyConflict
from memex.model import Scope, Space
from memex.store import wire
from memex.store.composites import Deleted, RequestKey
from memex.store.connection import Connection
from memex.store.narrowing import Narrowed, parameters
from memex.store.pool import Pool
from memex.store.queries import load
from memex.store.ranking import clock
from memex.store.reads import keys

REMOVABLE = load("removable")
REMOVING = load("removing")
BEGUN = load("removal_begun")
DELETED_PART = load("removal_part")
ENDED = load("removal_ended")

LEAST_ID = bytes(16)
"""Before every id."""


class Removable(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that all hold; None is no condition."""

    narrowed: Narrowed
    recorded_until: int
    """Microseconds since 1970: what was stored later stays."""
    content_hash: bytes | None = None
    ids: tuple[UUID, ...] | None = None

    def parameters(self, agent_id: str) -> tuple[wire.Wire, ...]:
        """The parameters $4 to $14."""
        ids = None if self.ids is None else [id_.bytes for id_ in self.ids]
        return (
            wire.text(agent_id),
            wire.moment(self.recorded_until),
            *parameters(self.narrowed),
            wire.Wire(wire.BYTEA, self.content_hash),
            wire.uuids(ids) if ids is not None else wire.Wire(wire.UUIDS, None),
        )


class Begun(msgspec.Struct, frozen=True):
    """A removal with a key."""

    at: int
    """Microseconds since 1970, by which it is known."""
    deleted: int
    """So far."""
    done: bool


class Removals:
    """Reads what is to be removed, and removes it for a key; without one removing is writing."""

    def __init__(self, pool: Pool) -> None:
        """Takes a connection for each call."""
        self._pool = pool

    async def clock(self) -> int:
        """The database's time in microseconds since 1970."""
        return await self._pool.run(clock)

    async def counts(self, scope: Scope, user_id: str | None, removable: Removable) -> dict[str, int]:
        """How many memories of the scope's own agent, by user."""
        return await self._pool.run(counts, scope, user_id, removable)

    async def ids(self, scope: Scope, space: Space, removable: Removable, after: bytes, limit: int) -> list[bytes]:
        """Their next ids after `after`, in one space, ascending."""
        return await self._pool.run(ids, scope, space, removable, after, limit)

    async def begin(self, scope: Scope, key: RequestKey) -> Begun:
        """The removal of this key, which may have begun before. Raises IdempotencyConflict."""
        return await self._pool.run(begin, scope, key)

    async def part(self, space: Space, agent_id: str, key: RequestKey, at: int, ids: Sequence[bytes]) -> int | None:
        """Deletes those memories for the removal that began `at` and counts them to it, in one transaction.

        Returns how many were there, None where the removal is over.
        """
        return await self._pool.run(part, space, agent_id, key, at, ids)

    async def end(self, scope: Scope, key: RequestKey, at: int) -> Deleted:
        """The removal that began `at` is done; what it came to in all. Raises IdempotencyConflict."""
        return await self._pool.run(end, scope, key, at)


async def counts(connection: Connection, scope: Scope, user_id: str | None, removable: Removable) -> dict[str, int]:
    """One row a user."""
    key = None if user_id is None else wire.BIGINT.pack(Space(scope.tenant_id, user_id).key)
    place = (wire.Wire(wire.INT8, key), wire.text(scope.tenant_id), wire.text(user_id))
    return dict(await connection.fetch(REMOVABLE, (*place, *removable.parameters(scope.agent_id))))


async def ids(
    connection: Connection, scope: Scope, space: Space, removable: Removable, after: bytes, limit: int
) -> list[bytes]:
    """One column."""
    rest = (wire.Wire(wire.UUID, after), wire.int8(limit))
    found = await connection.fetch(REMOVING, (*keys(space), *removable.parameters(scope.agent_id), *rest))
    return [row[0] for row in found]


async def begin(connection: Connection, scope: Scope, key: RequestKey) -> Begun:
    """One row, none where the key is of another request."""
    found = await connection.fetch(BEGUN, (*named(scope, key), wire.Wire(wire.BYTEA, key.digest)))
    if not found:
        raise IdempotencyConflict
    return Begun(*found[0])


async def part(
    connection: Connection, space: Space, agent_id: str, key: RequestKey, at: int, ids: Sequence[bytes]
) -> int | None:
    """One value."""
    whose = (*keys(space), wire.text(agent_id), wire.text(key.key))
    ((deleted,),) = await connection.fetch(DELETED_PART, (*whose, wire.moment(at), wire.uuids(ids)))
    return None if deleted is None else int(deleted)


async def end(connection: Connection, scope: Scope, key: RequestKey, at: int) -> Deleted:
    """One row, none where it has made way for another."""
    found = await connection.fetch(ENDED, (*named(scope, key), wire.moment(at)))
    if not found:
        raise IdempotencyConflict
    return Deleted(*found[0])


def named(scope: Scope, key: RequestKey) -> tuple[wire.Wire, wire.Wire, wire.Wire]:
    """The parameters $1 to $3 of statements about a removal with a key."""
    return (wire.text(scope.tenant_id), wire.text(scope.agent_id), wire.text(key.key))
