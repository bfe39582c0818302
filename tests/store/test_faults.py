"""Each kind of trouble, caused for real, and the error it becomes. No text of ours or the caller's leaks."""

import logging
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import psycopg
import pytest

from memex.errors import StoreFault, StoreUnavailable
from memex.logs import QUIET_SECONDS, Flood
from memex.settings import Database
from memex.store import faults
from memex.store.connection import Connection
from memex.store.pool import Pool

Section = Callable[[Connection], Awaitable[None]]
SECRET = "the-secret-text"


@pytest.fixture(autouse=True)
def flood(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another test caused a moment ago keeps no line of this one back."""
    monkeypatch.setattr(faults, "passing", Flood())


def raising(code: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'server words' USING ERRCODE = '{code}'; END $$"


STATEMENTS = {
    "a check": ("INSERT INTO memex.models VALUES ('the-secret-text', 'r', 0, false)", faults.DataRefused),
    "a key": ("INSERT INTO memex.compatibility VALUES (true, 2)", faults.DataRefused),
    "a null": ("INSERT INTO memex.models VALUES ('the-secret-text', NULL, 1, false)", faults.DataRefused),
    "a number": ("SELECT 'the-secret-text'::integer", faults.DataRefused),
    "a division": ("SELECT 1 / 0", faults.DataRefused),
    "the space of another": (raising("MX001"), faults.DataRefused),
    "the wrong model": (raising("MX002"), faults.DataRefused),
    "syntax": ("SELEC 'the-secret-text'", StoreFault),
    "no table": ("SELECT * FROM memex.nothing", StoreFault),
    "no right": (raising("42501"), StoreFault),
    "time": ("SET statement_timeout = 1; SELECT pg_sleep(3600)", StoreUnavailable),
    "a lock": (raising("55P03"), StoreUnavailable),
    "a deadlock": (raising("40P01"), StoreUnavailable),
    "serialization": (raising("40001"), StoreUnavailable),
    "a full disk": (raising("53100"), StoreUnavailable),
    "no memory": (raising("53200"), StoreUnavailable),
    "connections": (raising("53300"), StoreUnavailable),
    "a shutdown": (raising("57P01"), StoreUnavailable),
    "starting": (raising("57P03"), StoreUnavailable),
    "input and output": (raising("58030"), StoreUnavailable),
    "read only": ("SET default_transaction_read_only = on; SELECT 1", None),
    "ended": ("SELECT pg_terminate_backend(pg_backend_pid())", StoreUnavailable),
}


@pytest.mark.parametrize("name", STATEMENTS)
async def test_each_trouble_has_its_error(pool: Pool, caplog: pytest.LogCaptureFixture, name: str):
    statement, kind = STATEMENTS[name]

    async def section(connection: Connection) -> None:
        await connection.execute(statement.encode(), prepare=False)

    caplog.set_level(logging.WARNING, logger="memex.store.faults")
    if kind is None:
        await pool.run(section)
        statement, kind = "INSERT INTO memex.compatibility VALUES (true, 2)", StoreUnavailable
    with pytest.raises(kind) as raised:
        await pool.run(section)
    assert type(raised.value) is kind
    assert "SELECT" not in raised.value.message
    assert SECRET not in raised.value.message
    (record,) = caplog.records
    assert record.levelno == (logging.WARNING if kind is StoreUnavailable else logging.ERROR)
    assert SECRET not in record.getMessage()


async def fail(pool: Pool, code: str, times: int) -> None:
    async def section(connection: Connection) -> None:
        await connection.execute(raising(code).encode(), prepare=False)

    for _ in range(times):
        with pytest.raises((StoreFault, StoreUnavailable)):
            await pool.run(section)


async def test_a_flood_of_passing_trouble_is_a_line_a_second_that_counts_the_others(
    pool: Pool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level(logging.WARNING, logger="memex.store.faults")
    now = 100.0
    monkeypatch.setattr("memex.logs.time", SimpleNamespace(monotonic=lambda: now))
    for _ in range(3):
        await fail(pool, "55P03", 5)
        now += QUIET_SECONDS
    line = "postgresql LockNotAvailable 55P03 server words"
    assert caplog.messages == [line, *[f"{line}, 4 more since the last such line"] * 2]


async def test_a_fault_of_ours_is_told_each_time_also_in_a_flood(pool: Pool, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, logger="memex.store.faults")
    await fail(pool, "55P03", 1)
    await fail(pool, "42501", 3)
    assert caplog.messages == [
        "postgresql LockNotAvailable 55P03 server words",
        *["postgresql InsufficientPrivilege 42501 server words"] * 3,
    ]


async def test_the_log_names_state_and_constraint(pool: Pool, caplog: pytest.LogCaptureFixture):
    async def section(connection: Connection) -> None:
        await connection.execute(b"INSERT INTO memex.models VALUES ('m', 'r', 0, false)")

    with pytest.raises(StoreFault):
        await pool.run(section)
    assert "23514 models.models_dimensions_check" in caplog.text


async def test_no_server_is_an_outage(metrics):
    pool = Pool("host=127.0.0.1 port=1 user=u dbname=d", Database(), metrics)
    with pytest.raises(StoreUnavailable):
        await pool.open()


def test_a_password_is_never_shown():
    error = psycopg.OperationalError("connection failed: FATAL:  no such thing")
    message = faults.unreachable(error, f"postgresql://user:{SECRET}@host:5432/name").message
    assert message == "The database at host=host port=5432 dbname=name user=user cannot be used: no such thing."
    broken = psycopg.ProgrammingError(f'missing "=" after "{SECRET}"')
    assert SECRET not in faults.unreachable(broken, SECRET).message
