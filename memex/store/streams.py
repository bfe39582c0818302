"""What a large space holds, as PostgreSQL's own streams: no row of it becomes an object of Python."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
from psycopg import generators
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from memex.model import Space
from memex.store import wire
from memex.store.connection import Connection
from memex.store.pool import Pool
from memex.store.queries import load

WINDOW = load("window")
MEMORIES_STREAM = load("memories_stream")
VECTORS_STREAM = load("vectors_stream")

WINDOW_ROWS = 16_384
"""Memories of one pair of streams: a statement stays far below its time limit, and who merges the two holds no more."""
PIECE = 1024 * 1024
"""Bytes handed on at once, at least, but at the end."""


async def streams(pool: Pool, connection: Connection, space: Space, after: bytes) -> AsyncIterator[bytes]:
    """Pieces of pairs of streams in COPY's binary format, on a connection that holds a snapshot.

    Each pair has the next memories by id after the id `after`, then their vectors of the current model.
    """
    last: bytes | None = after
    while last is not None:
        last = await pool.within(connection, move, space, last)
        for statement in (MEMORIES_STREAM, VECTORS_STREAM):
            stream = Stream(connection)
            await pool.within(connection, opened, stream, statement)
            while piece := await pool.within(connection, next_piece, stream):
                yield piece


async def move(connection: Connection, space: Space, after: bytes) -> bytes | None:
    """The window of the streams moves on; its last id, None at the end of the space."""
    parameters = (wire.int8(space.key), wire.Wire(wire.UUID, after), wire.int8(WINDOW_ROWS))
    ((last, *_),) = await connection.fetch(WINDOW, parameters)
    return None if last is None else bytes(last)


async def opened(_: Connection, stream: "Stream", statement: bytes) -> None:
    """A section."""
    await stream.open(statement)


async def next_piece(_: Connection, stream: "Stream") -> bytes:
    """A section: time counts for each piece, not for the whole."""
    return await stream.next_piece()


class Stream:
    """One COPY to us.

    libpq has a message for each row. They are gathered by a callback of the event loop, some at a time: a task that
    waits for each would cost more than all the rest.
    """

    def __init__(self, connection: Connection) -> None:
        """Nothing else may happen on the connection until the stream has ended."""
        self._connection = connection
        self._pgconn = connection.pgconn
        # Bytes, not a list of messages: thousands of those would set off the collection of garbage.
        self._gathered = bytearray()
        self._ended = False

    async def open(self, statement: bytes) -> None:
        """Sends the statement."""
        self._pgconn.send_query(statement)
        check(await self._connection.wait(generators.execute(self._pgconn)), ExecStatus.COPY_OUT)

    async def next_piece(self) -> bytes:
        """At least `PIECE` bytes, fewer at the end, and then none."""
        if not self._ended and not self._gather():
            await self._fill()
        if self._ended and self._gathered:
            check(await self._connection.wait(generators.fetch_many(self._pgconn)), ExecStatus.COMMAND_OK)
        piece, self._gathered = bytes(self._gathered), bytearray()
        return piece

    async def _fill(self) -> None:
        """Gathers as the socket brings more, until that is enough."""
        loop = asyncio.get_running_loop()
        full: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._pgconn.socket, self._read, full)
        try:
            await full
        finally:
            loop.remove_reader(self._pgconn.socket)

    def _read(self, full: asyncio.Future[None]) -> None:
        """The socket has something."""
        try:
            if self._receive() and not full.done():
                full.set_result(None)
        except psycopg.Error as error:
            if not full.done():
                full.set_exception(error)

    def _receive(self) -> bool:
        """Reads until nothing comes; whether that is enough. What TLS holds decrypted, the socket tells nothing of."""
        quiet, last = 0, 2 if self._pgconn.ssl_in_use else 1
        while quiet < last:
            before = len(self._gathered)
            self._pgconn.consume_input()
            if self._gather():
                return True
            quiet = 0 if len(self._gathered) > before else quiet + 1
        return False

    def _gather(self) -> bool:
        """Takes what libpq has; whether that is enough."""
        while len(self._gathered) < PIECE:
            length, message = self._pgconn.get_copy_data(1)
            if length == 0:
                return False
            if length < 0:
                self._ended = True
                break
            self._gathered += message
        return True


def check(results: list[PGresult], status: ExecStatus) -> None:
    """Raises psycopg's error where the only one of `results` is not of this status."""
    (result,) = results
    if result.status != status:
        raise error_from_result(result)
