"""One connection to PostgreSQL, set up as all of ours are."""

import asyncio
import math
import select
from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg
from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor
from psycopg.pq import ConnStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads

from memex.store import wire
from memex.store.conninfo import ours
from memex.store.queries import load

SESSION = load("session")
# The server gives up a little before we do: its own error leaves the connection usable.
SERVER_SHARE = 0.9


class Connection(AsyncConnection[TupleRow]):
    """A connection with the numbers of our types, which a restored database may have changed."""

    oids: wire.Oids
    section: asyncio.Task[Any] | None = None
    """What was last started on it by `within`."""
    cursors: dict[bytes, AsyncCursor[TupleRow]]

    async def fetch(self, statement: bytes, parameters: Sequence[wire.Wire]) -> list[TupleRow]:
        """All rows of a statement, through a cursor kept for it: it knows its columns and parameters already."""
        cursor = self.cursors.get(statement) or self.cursors.setdefault(statement, self.cursor(binary=True))
        await cursor.execute(statement, parameters)
        return await cursor.fetchall()


def with_defaults(conninfo: str, command_timeout: float) -> str:
    """`conninfo` with time-outs for a dead network, where it names none itself. Raises DatabaseUnreachable."""
    seconds = max(2, math.ceil(command_timeout))
    return ours(
        conninfo,
        application_name="memex",
        connect_timeout=seconds,
        keepalives_idle=seconds,
        keepalives_interval=seconds,
        keepalives_count=3,
        tcp_user_timeout=seconds * 1000,
    )


async def connect(conninfo: str, command_timeout: float) -> Connection:
    """Autocommit, every statement prepared at first use and kept, binary both ways."""
    connection = await Connection.connect(conninfo, autocommit=True, prepare_threshold=0, cursor_factory=AsyncRawCursor)
    connection.prepared_max = None
    connection.cursors = {}
    connection.adapters.register_dumper(wire.Wire, wire.WireDumper)
    connection.adapters.register_loader("timestamptz", wire.MicrosecondsLoader)
    set_json_loads(msgspec.json.decode, connection)
    limit = math.ceil(command_timeout * 1000)
    times = [wire.text(str(math.ceil(limit * SERVER_SHARE))), wire.text(str(limit))]
    try:
        row = await (await connection.execute(SESSION, times, prepare=False, binary=True)).fetchone()
    except BaseException:
        connection.pgconn.finish()
        raise
    if row is None:
        raise psycopg.OperationalError("the tables of memex are not there")
    connection.oids = wire.Oids(*row[: len(wire.Oids._fields)])
    connection.adapters.register_loader(connection.oids.halfvecs, wire.HalfvecsLoader)
    return connection


def is_quiet(connection: Connection) -> bool:
    """Whether an idle connection lives, without asking the server: one that was ended has something to read."""
    if connection.pgconn.status != ConnStatus.OK:
        return False
    watch = select.poll()
    watch.register(connection.pgconn.socket, select.POLLIN)
    return not watch.poll(0)
