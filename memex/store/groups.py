"""What one commit holds: writes and deletes of many callers, one statement per space, in the order of the keys."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg
from psycopg import AsyncCursor

from memex.errors import MemexError
from memex.model import Space
from memex.store import rows, wire
from memex.store.connection import Connection
from memex.store.faults import DATA_CLASSES, translate
from memex.store.queries import load
from memex.store.rows import Encoded, Written

WRITE = load("write")
DELETE = load("delete")

Cursor = AsyncCursor[tuple[Any, ...]]
Outcome = Written | bool


class Member(msgspec.Struct):
    """One caller's change, and where the caller waits for its outcome: what was written, or whether it was deleted."""

    space: Space
    outcome: asyncio.Future[Outcome]
    encoded: Encoded | None = None
    """The row to write; None for a delete."""
    model_id: str = ""
    agent_id: str = ""
    memory_id: bytes = b""

    @property
    def call(self) -> tuple[int, bool, str]:
        """Members of equal `call` are one statement. Sorted: two groups never wait for each other in a circle."""
        return (self.space.key, self.encoded is None, self.model_id)

    def fail(self, error: MemexError) -> None:
        """Tell the caller, if it still waits."""
        if not self.outcome.done():
            self.outcome.set_exception(error)

    def succeed(self, outcome: Outcome) -> None:
        """Tell the caller, if it still waits."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


async def commit(connection: Connection, members: Sequence[Member]) -> None:
    """One transaction for all; where PostgreSQL refuses the data of one, each by itself.

    Raises psycopg.Error for trouble that is nobody's data: then nothing of the last transaction was stored.
    """
    try:
        await transact(connection, members)
    except psycopg.Error as error:
        if (error.sqlstate or "")[:2] not in DATA_CLASSES:
            raise
        if len(members) == 1:
            members[0].fail(translate(error))
            return
        for member in members:
            await commit(connection, [member])


async def transact(connection: Connection, members: Sequence[Member]) -> None:
    """Send one statement per space and wait for the commit; only then tell the callers.

    A pipeline is one transaction up to its end, so BEGIN and COMMIT need no messages.
    """
    calls: dict[tuple[int, bool, str], list[Member]] = {}
    for member in members:
        calls.setdefault(member.call, []).append(member)
    ordered = [calls[call] for call in sorted(calls)]
    async with connection.pipeline():
        cursors = [await send(connection, part) for part in ordered]
    for part, cursor in zip(ordered, cursors, strict=True):
        answer(part, await cursor.fetchall())


async def send(connection: Connection, members: list[Member]) -> Cursor:
    """The statement of members that share a space."""
    first = members[0]
    keys = (wire.int8(first.space.key), wire.text(first.space.tenant_id), wire.text(first.space.user_id))
    encoded = [member.encoded for member in members if member.encoded is not None]
    if encoded:
        parameters = (*keys, wire.text(first.model_id), rows.new_memories(encoded, connection.oids))
        return await connection.execute(WRITE, parameters, binary=True)
    agents = wire.texts([member.agent_id for member in members])
    ids = wire.uuids([member.memory_id for member in members])
    return await connection.execute(DELETE, (*keys, agents, ids), binary=True)


def answer(members: list[Member], found: list[tuple[Any, ...]]) -> None:
    """Give each caller of one statement its own outcome. Of two who delete the same memory, one did."""
    if members[0].encoded is not None:
        for member, row in zip(members, found, strict=True):
            member.succeed(Written(rows.memory(member.space.user_id, row, 2), row[1]))
        return
    deleted = {row[0] for row in found}
    for member in members:
        member.succeed(member.memory_id in deleted)
        deleted.discard(member.memory_id)
