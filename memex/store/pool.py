"""Connections to PostgreSQL: few, checked without a round trip, and never waited for without an end.

Own rather than psycopg_pool: that one waits out an outage with growing pauses, so a request could
fail long after the database is back, cannot tell a full pool from a dead database, and checks a
connection only by a statement.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from memex.errors import Overloaded, StoreUnavailable
from memex.metrics import Metrics
from memex.settings import Database
from memex.store.connection import Connection, connect, is_quiet, with_defaults
from memex.store.faults import DATA_CLASSES, translate

T = TypeVar("T")
P = ParamSpec("P")


class Pool:
    """At most `max_pool_size` connections, opened as needed; the last one used goes out first."""

    def __init__(self, conninfo: str, settings: Database, metrics: Metrics) -> None:
        """Opens nothing yet. `conninfo` is a URL or libpq's `key=value` form."""
        self._conninfo = with_defaults(conninfo, settings.command_timeout)
        self.command_timeout = settings.command_timeout
        self._settings = settings
        self._metrics = metrics
        self._idle: list[Connection] = []
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._size = 0
        self._closed = False
        self._sections: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Open the least number of connections. Raises StoreUnavailable."""
        self._closed = False
        taken = [await self._take() for _ in range(min(self._settings.min_pool_size, self._settings.max_pool_size))]
        for connection in taken:
            self._give(connection)

    async def close(self) -> None:
        """Let sections in work end, at most the command timeout, and close everything."""
        self._closed = True
        if self._sections:
            _, late = await asyncio.wait(self._sections, timeout=self._settings.command_timeout)
            for task in late:
                task.cancel()
        while self._idle:
            self._drop(self._idle.pop())

    async def run(
        self, section: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """One database section: an answer or an error within the command timeout.

        It is a task of its own, so that a caller who leaves cannot interrupt it half-way. Raises
        Overloaded, StoreUnavailable or StoreFault.
        """
        return await self._bounded(asyncio.create_task(self._on_connection(section, *args, **kwargs)))

    async def within(
        self,
        connection: Connection,
        section: Callable[Concatenate[Connection, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """One section on a connection of `connection()`, bounded in the same way."""
        connection.section = task = asyncio.create_task(on(connection, section, *args, **kwargs))
        return await self._bounded(task)

    async def _bounded(self, task: asyncio.Task[T]) -> T:
        """Wait for a section at most the command timeout; a caller who leaves before lets it end by itself."""
        self._sections.add(task)
        task.add_done_callback(self._ended)
        try:
            done, _ = await asyncio.wait((task,), timeout=self._settings.command_timeout)
        except asyncio.CancelledError:
            asyncio.get_running_loop().call_later(self._settings.command_timeout, task.cancel)
            raise
        if done and not task.cancelled():
            return task.result()
        task.cancel()
        raise StoreUnavailable

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for several statements. The caller bounds its waits; one who leaves half-way costs it."""
        connection = await self._take()
        clean = False
        try:
            yield connection
            clean = True
        except psycopg.Error as error:
            clean = reusable(error)
            raise translate(error) from error
        finally:
            self._give(connection, clean=clean)

    async def _on_connection(
        self, section: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`connection()` without its generator: the hot path."""
        connection = await self._take()
        clean = False
        try:
            result = await section(connection, *args, **kwargs)
        except psycopg.Error as error:
            clean = reusable(error)
            raise translate(error) from error
        else:
            clean = True
            return result
        finally:
            self._give(connection, clean=clean)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Forget a section; its error is taken even if nobody waits for it any more."""
        self._sections.discard(task)
        if not task.cancelled():
            task.exception()

    async def _take(self) -> Connection:
        """An idle connection that still lives, a new one, or the next that comes back."""
        end = asyncio.get_running_loop().time() + self._settings.pool_timeout
        while not self._closed:
            while self._idle:
                connection = self._idle.pop()
                if is_quiet(connection):
                    self._metrics.pool_idle.set(len(self._idle))
                    return connection
                self._drop(connection)
            if self._size < self._settings.max_pool_size:
                return await self._connect()
            if given := await self._wait(end):
                return given
        raise StoreUnavailable

    async def _wait(self, end: float) -> Connection | None:
        """The next connection given back, or None when there is room to open one. Raises Overloaded at `end`."""
        place: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            async with asyncio.timeout_at(end):
                return await place
        except TimeoutError as error:
            self._pass_on(place)
            raise Overloaded from error
        except asyncio.CancelledError:
            self._pass_on(place)
            raise

    def _pass_on(self, place: asyncio.Future[Connection | None]) -> None:
        """Somebody stopped waiting: what they were handed in the same moment goes to the next."""
        if place in self._waiting:
            self._waiting.remove(place)
        elif place.done() and not place.cancelled():
            given = place.result()
            self._give(given) if given else self._wake(None)

    async def _connect(self) -> Connection:
        """A new connection, set up. Raises StoreUnavailable."""
        self._size += 1
        try:
            connection = await connect(self._conninfo, self._settings.command_timeout)
        except psycopg.Error as error:
            self._freed()
            raise translate(error) from error
        except BaseException:
            self._freed()
            raise
        self._metrics.pool_size.set(self._size)
        return connection

    def _give(self, connection: Connection, *, clean: bool = True) -> None:
        """Hand a connection to the next who waits; one in an unknown state is closed."""
        usable = clean and not self._closed and connection.info.transaction_status == TransactionStatus.IDLE
        if not usable:
            self._drop(connection)
        elif not self._wake(connection):
            self._idle.append(connection)
            self._metrics.pool_idle.set(len(self._idle))

    def _drop(self, connection: Connection) -> None:
        """Close without a word to the server, which may not be there, once nothing waits on its socket any more."""
        if connection.section is not None and not connection.section.done():
            connection.section.add_done_callback(lambda _: self._drop(connection))
            return
        connection.pgconn.finish()
        self._freed()

    def _freed(self) -> None:
        """There is room for one more."""
        self._size -= 1
        self._metrics.pool_size.set(self._size)
        self._metrics.pool_idle.set(len(self._idle))
        self._wake(None)

    def _wake(self, given: Connection | None) -> bool:
        """Let the longest waiting go on, with `given` or to open its own; False if nobody waits."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(given)
                return True
        return False


async def on(
    connection: Connection,
    section: Callable[Concatenate[Connection, P], Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """A section as a coroutine."""
    return await section(connection, *args, **kwargs)


def reusable(error: psycopg.Error) -> bool:
    """Refused data leaves a connection as it was; after a fault of a statement its prepared plans are in doubt."""
    return (error.sqlstate or "")[:2] in DATA_CLASSES or error.sqlstate == "57014"
