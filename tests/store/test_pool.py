"""The pool: bounded waits, dead connections, callers who leave, an outage and its end."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.errors import MemexError, Overloaded, StoreUnavailable
from memex.metrics import Metrics
from memex.settings import Database
from memex.store.connection import Connection, with_defaults
from memex.store.pool import Pool

IN_TIME = 15.0
"""Seconds for what the command timeout of half a second ends, on a slow machine too."""


async def number(connection: Connection) -> int:
    row = await (await connection.execute(b"SELECT pg_backend_pid()", binary=True)).fetchone()
    assert row is not None
    return int(row[0])


async def forever(connection: Connection) -> None:
    await connection.execute(b"SELECT pg_sleep(3600)")


def gauges(metrics: Metrics) -> tuple[float | None, float | None]:
    read = metrics.registry.get_sample_value
    return read("memex_db_pool_size"), read("memex_db_pool_idle")


class Held:
    """Keeps connections taken until told to let go."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.release = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def take(self, count: int) -> None:
        for _ in range(count):
            inside = asyncio.Event()
            self.tasks.append(asyncio.create_task(self.pool.run(self.hold, inside)))
            await inside.wait()

    async def hold(self, connection: Connection, inside: asyncio.Event) -> None:
        inside.set()
        await self.release.wait()

    async def let_go(self) -> None:
        self.release.set()
        await asyncio.gather(*self.tasks)


@pytest.fixture
async def small(database: str, metrics: Metrics) -> AsyncIterator[Pool]:
    """Two connections, and hardly any patience for a free one."""
    pool = Pool(database, Database(min_pool_size=1, max_pool_size=2, pool_timeout=0.05, command_timeout=20.0), metrics)
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
def local_database(database: str) -> str:
    """One on this machine: its processes can be stopped, and its socket be stood in front of."""
    if not str(conninfo_to_dict(database).get("host", "")).startswith("/"):
        pytest.skip("the server is not reached through a unix socket")
    return database


async def test_connections_are_opened_as_needed_and_kept(small: Pool, metrics: Metrics):
    assert gauges(metrics) == (1, 1)
    pids = {await small.run(number) for _ in range(10)}
    assert len(pids) == 1
    held = Held(small)
    await held.take(2)
    assert gauges(metrics) == (2, 0)
    await held.let_go()
    assert gauges(metrics) == (2, 2)


async def test_a_full_pool_is_waited_for_and_then_refused(small: Pool):
    held = Held(small)
    await held.take(2)
    with pytest.raises(Overloaded) as refusal:
        await small.run(number)
    assert refusal.value.retry_after == 1
    await held.let_go()
    assert await small.run(number)


async def test_waiters_are_served_in_order(pool: Pool):
    held = Held(pool)
    await held.take(3)
    order: list[int] = []

    async def note(_: Connection, place: int) -> None:
        order.append(place)

    waiting = [asyncio.create_task(pool.run(note, place)) for place in range(20)]
    await asyncio.sleep(0)
    await held.let_go()
    await asyncio.gather(*waiting)
    assert order == list(range(20))


async def test_a_connection_that_was_ended_costs_no_request(pool: Pool, database: str):
    held = Held(pool)
    await held.take(3)
    await held.let_go()
    with psycopg.connect(database, autocommit=True) as other:
        ended = other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchall()
    assert ended == [(True,)] * 3
    assert len(set(await asyncio.gather(*[pool.run(number) for _ in range(10)]))) in (1, 2, 3)


async def test_a_connection_lost_in_work_is_an_outage_for_its_request_alone(pool: Pool, database: str):
    pid = await pool.run(number)
    sleeping = asyncio.create_task(pool.run(forever))
    with psycopg.connect(database, autocommit=True) as other:
        row = None
        while row is None:
            await asyncio.sleep(0)
            row = other.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'").fetchone()
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(StoreUnavailable):
        await sleeping
    assert await pool.run(number) != pid


async def test_a_caller_who_leaves_poisons_nothing(pool: Pool):
    async def insert(connection: Connection, inside: asyncio.Event, go: asyncio.Event, text: str) -> None:
        inside.set()
        await go.wait()
        await connection.execute(b"INSERT INTO memex.models VALUES ($1, 'r', 4, false)", [text])

    for n in range(10):
        inside, go = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(pool.run(insert, inside, go, f"model {n}"))
        await inside.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        go.set()
        assert await pool.run(number)

    async def stored(connection: Connection) -> int:
        row = await (await connection.execute(b"SELECT count(*) FROM memex.models WHERE revision = 'r'")).fetchone()
        return int(row[0]) if row else 0

    count = 0
    while count < 10:
        count = await pool.run(stored)


async def test_a_waiter_who_leaves_loses_no_connection(small: Pool):
    held = Held(small)
    await held.take(2)
    waiting = [asyncio.create_task(small.run(number)) for _ in range(6)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await held.let_go()
    await asyncio.gather(*waiting, return_exceptions=True)
    again = Held(small)
    await again.take(2)
    await again.let_go()


async def test_a_statement_without_end_stops_at_the_command_timeout(database: str):
    pool = Pool(database, Database(min_pool_size=1, max_pool_size=1, command_timeout=0.5), Metrics())
    await pool.open()
    with pytest.raises(StoreUnavailable):
        async with asyncio.timeout(IN_TIME):
            await pool.run(forever)
    assert await pool.run(number)
    await pool.close()


async def test_a_stopped_server_is_an_error_in_time_and_recovers(local_database: str):
    """The backend is stopped, as a dead host would be: nothing answers and nothing is refused."""
    settings = Database(min_pool_size=1, max_pool_size=1, command_timeout=0.5, pool_timeout=0.2)
    pool = Pool(local_database, settings, Metrics())
    await pool.open()
    pid = await pool.run(number)
    os.kill(pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(IN_TIME):
            with pytest.raises(StoreUnavailable):
                await pool.run(number)
            with pytest.raises((Overloaded, StoreUnavailable)):
                await pool.run(number)
    finally:
        os.kill(pid, signal.SIGCONT)
    answer = None
    while answer is None:
        with contextlib.suppress(MemexError):
            answer = await pool.run(number)
    await pool.close()


class Door:
    """A port in front of the database that can be shut and opened again."""

    def __init__(self, conninfo: str) -> None:
        parts = conninfo_to_dict(conninfo)
        self.target = f"{parts['host']}/.s.PGSQL.{parts.get('port') or 5432}"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.conninfo = make_conninfo(conninfo, host="127.0.0.1", port=self.port, sslmode="disable")
        self.writers: set[asyncio.StreamWriter] = set()
        self.server: asyncio.Server | None = None

    async def open(self) -> None:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    async def shut(self) -> None:
        assert self.server is not None
        self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()
        await self.server.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await asyncio.open_unix_connection(self.target)
        self.writers |= {writer, behind[1]}
        await asyncio.gather(self.carry(reader, behind[1]), self.carry(behind[0], writer))

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
        self.writers.discard(writer)


async def test_the_first_request_after_an_outage_succeeds(local_database: str):
    door = Door(local_database)
    await door.open()
    pool = Pool(door.conninfo, Database(min_pool_size=2, max_pool_size=2, command_timeout=10.0), Metrics())
    await pool.open()
    await door.shut()
    for _ in range(3):
        outcomes = await asyncio.gather(*[pool.run(number) for _ in range(4)], return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 4
    await door.open()
    assert await pool.run(number)
    await pool.close()
    await door.shut()


async def test_a_closed_pool_gives_nothing(small: Pool):
    await small.close()
    with pytest.raises(StoreUnavailable):
        await small.run(number)


async def test_closing_lets_sections_end(database: str):
    pool = Pool(database, Database(min_pool_size=1, max_pool_size=1), Metrics())
    await pool.open()
    held = Held(pool)
    await held.take(1)
    closing = asyncio.create_task(pool.close())
    await asyncio.sleep(0)
    await held.let_go()
    await closing


def test_timeouts_for_a_dead_network_leave_the_users_own_alone():
    given = conninfo_to_dict(with_defaults("postgresql://u:p@h/d?connect_timeout=3", 10.0))
    assert given["connect_timeout"] == "3"
    assert given["tcp_user_timeout"] == "10000"
    assert (given["host"], given["password"], given["application_name"]) == ("h", "p", "memex")
