"""Whether a database is one that this memex can work with. Changes nothing."""

from typing import NamedTuple

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from memex.errors import DatabaseUnsuitable, SchemaTooNew
from memex.store.faults import unreachable

REVISION = "0002"
"""The newest step of `migrations/` that this code knows."""
COMPATIBILITY = 1
"""Databases with a higher number were changed in a way that this code would damage."""
OLDEST_SERVER = 150_000
OLDEST_VECTOR = (0, 8)
CONNECT_SECONDS = 10


class Facts(NamedTuple):
    """What a server says of itself. Versions are None for what is not there."""

    server: int
    available: str | None
    """Version of pgvector on the server."""
    installed: str | None
    """Version of pgvector in this database."""
    compatibility: int | None
    revision: str | None


def connect(conninfo: str) -> Connection[TupleRow]:
    """A plain connection in autocommit mode. Raises DatabaseUnreachable with one line that says why."""
    try:
        return psycopg.connect(conninfo, autocommit=True, connect_timeout=CONNECT_SECONDS)
    except psycopg.Error as error:
        raise unreachable(error, conninfo) from error


def verify(conninfo: str) -> None:
    """Raises DatabaseUnreachable, DatabaseUnsuitable (also: not migrated) or SchemaTooNew."""
    if not current(conninfo):
        raise DatabaseUnsuitable("The database has no tables of this memex yet: run `memex migrate`.")


def current(conninfo: str) -> bool:
    """Whether there is nothing to migrate. Raises DatabaseUnreachable, DatabaseUnsuitable or SchemaTooNew."""
    with connect(conninfo) as connection:
        facts = inspect(connection)
    check_server(facts)
    return is_current(facts)


def inspect(connection: Connection[TupleRow]) -> Facts:
    """Asks the server for its facts."""
    available, installed = one(
        connection,
        "SELECT (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),"
        " (SELECT extversion FROM pg_extension WHERE extname = 'vector')",
    )
    number = revision = None
    if one(connection, "SELECT to_regclass('memex.compatibility') IS NOT NULL")[0]:
        number = one(connection, "SELECT max(number) FROM memex.compatibility")[0]
        revision = one(connection, "SELECT max(version_num) FROM memex.alembic_version")[0]
    return Facts(connection.info.server_version, available, installed, number, revision)


def one(connection: Connection[TupleRow], statement: str) -> TupleRow:
    """The only row of a statement."""
    row = connection.execute(statement.encode()).fetchone()
    if row is None:
        raise DatabaseUnsuitable("The database answers a plain question with nothing.")
    return row


def check_server(facts: Facts) -> None:
    """Raises SchemaTooNew, or DatabaseUnsuitable with what to do."""
    if (facts.compatibility or 0) > COMPATIBILITY:
        raise SchemaTooNew
    if facts.server < OLDEST_SERVER:
        found, needed = facts.server // 10_000, OLDEST_SERVER // 10_000
        raise DatabaseUnsuitable(f"PostgreSQL {found} is too old: memex needs {needed} or newer.")
    version = facts.installed or facts.available
    if version is None:
        raise DatabaseUnsuitable("PostgreSQL has no pgvector: install pgvector 0.8 or newer on the database server.")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR:
        raise DatabaseUnsuitable(
            f"pgvector {version} is too old: install 0.8 or newer on the database server, "
            "then run ALTER EXTENSION vector UPDATE."
        )


def is_current(facts: Facts) -> bool:
    """Whether there is nothing to migrate. A later revision of the same compatibility is fine as it is."""
    return facts.installed is not None and facts.revision is not None and facts.revision >= REVISION
