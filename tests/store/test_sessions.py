"""What a connection string, a role, a database or the environment sets for a session does not change what is stored."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.metrics import Metrics
from memex.settings import Database
from memex.store import schema
from memex.store.models import Models
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.fixtures.db import Databases
from tests.store.making import MODEL, SCOPE, SPACE, a_write

TEXT = "Ana är på sjön. 中文 🚢 \u0152"


async def stored(conninfo: str, settings: Database, **changed: Any) -> tuple[str, str]:
    """TEXT as memex reads it, and as anybody else does."""
    metrics = Metrics()
    pool = Pool(conninfo, settings, metrics)
    writes = Writes(pool, metrics, 20.0)
    writes.start()
    await pool.open()
    await Models(pool).register(MODEL)
    written = await writes.write(a_write(TEXT, metadata={"k": TEXT}, tags=[TEXT], **changed))
    id_ = UUID(written.memory.id)
    read = (await Reads(pool).hits(SPACE, SCOPE, [id_.bytes])).memories[id_.bytes]
    assert (read.metadata, read.tags) == ({"k": TEXT}, [TEXT])
    await writes.close()
    await pool.close()
    with psycopg.connect(make_conninfo(conninfo, client_encoding="UTF8", options="")) as connection:
        row = connection.execute("SELECT content FROM memex.memories").fetchone()
    assert row is not None
    return read.content, row[0]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "SJIS"])
@pytest.mark.parametrize("where", ["string", "options", "environment", "database", "role"])
async def test_text_is_kept_whatever_the_encoding_of_others(
    databases: Databases,
    database: str,
    settings: Database,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    encoding: str,
):
    parts = conninfo_to_dict(database)
    name, role = sql.Identifier(str(parts["dbname"])), sql.Identifier(str(parts.get("user") or "memex"))
    match where:
        case "string":
            database = make_conninfo(database, client_encoding=encoding)
        case "options":
            database = make_conninfo(database, options=f"-c client_encoding={encoding}")
        case "environment":
            monkeypatch.setenv("PGCLIENTENCODING", encoding)
        case "database":
            databases.execute("ALTER DATABASE {} SET client_encoding = {}", name, sql.Identifier(encoding))
        case _:
            statement = "ALTER ROLE {} IN DATABASE {} SET client_encoding = {}"
            databases.execute(statement, role, name, sql.Identifier(encoding))
    schema.verify(database)
    assert await stored(database, settings) == (TEXT, TEXT)


async def test_settings_of_a_database_change_no_statement(databases: Databases, database: str, settings: Database):
    name = sql.Identifier(str(conninfo_to_dict(database)["dbname"]))
    # A function of this name in front of PostgreSQL's own would be taken for it.
    with psycopg.connect(database) as connection:
        connection.execute(
            "CREATE SCHEMA odd; CREATE FUNCTION odd.now() RETURNS timestamptz RETURN timestamptz '2999-01-01Z'"
        )
    databases.execute("ALTER DATABASE {} SET search_path = odd, pg_catalog", name)
    databases.execute("ALTER DATABASE {} SET lock_timeout = 1", name)
    databases.execute("ALTER DATABASE {} SET standard_conforming_strings = off", name)
    databases.execute("ALTER DATABASE {} SET DateStyle = 'German'", name)
    databases.execute("ALTER DATABASE {} SET IntervalStyle = 'sql_standard'", name)
    databases.execute("ALTER DATABASE {} SET bytea_output = 'escape'", name)
    databases.execute("ALTER DATABASE {} SET extra_float_digits = -15", name)
    assert await stored(database, settings, expires_at=datetime(2500, 1, 1, tzinfo=UTC)) == (TEXT, TEXT)


async def test_a_stricter_isolation_of_the_database_lets_writers_wait_as_ever(
    databases: Databases, database: str, settings: Database
):
    """In a snapshot of its own a writer would not see what the one before it committed, and fail."""
    name = sql.Identifier(str(conninfo_to_dict(database)["dbname"]))
    databases.execute("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'", name)
    metrics = Metrics()
    pool = Pool(database, settings, metrics)
    await pool.open()
    await Models(pool).register(MODEL)
    both = [Writes(pool, metrics, 20.0) for _ in range(2)]
    for writes in both:
        writes.start()
    for n in range(30):
        pair = await asyncio.gather(*(writes.write(a_write(f"{n}", external_id=f"{n}")) for writes in both))
        assert sorted(written.created for written in pair) == [False, True]
    for writes in both:
        await writes.close()
    await pool.close()
