"""What one commit holds: the changes of many callers, one statement per space and kind, in the order of the keys."""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import AsyncCursor

from memex.store.connection import Connection
from memex.store.faults import DATA_CLASSES, translate
from memex.store.members import Call, Member

AnyMember = Member[Any]


async def commit(connection: Connection, members: Sequence[AnyMember]) -> None:
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


async def transact(connection: Connection, members: Sequence[AnyMember]) -> None:
    """Send the statements and wait for the commit; only then tell the callers.

    A pipeline is one transaction up to its end, so BEGIN and COMMIT need no messages.
    """
    calls: dict[Call, list[AnyMember]] = {}
    for member in members:
        calls.setdefault(member.call, []).append(member)
    ordered = [calls[call] for call in sorted(calls)]
    async with connection.pipeline():
        cursors = [await send(connection, part) for part in ordered]
    for part, cursor in zip(ordered, cursors, strict=True):
        part[0].answer(part, await cursor.fetchall())


async def send(connection: Connection, members: list[AnyMember]) -> AsyncCursor[tuple[Any, ...]]:
    """The statement of members that share a call."""
    first = members[0]
    parameters = (*first.keys, *first.parameters(members, connection.oids))
    return await connection.execute(first.statement, parameters, binary=True)
