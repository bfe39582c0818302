"""Whether a database is one that this memex can work with. Changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from memex.errors import DatabaseUnsuitable, SchemaTooNew
from memex.store.conninfo import ours
from memex.store.faults import first_line, unreachable
from memex.store.queries import load

PLAIN = load("plain")
RIGHTS = load("rights")

REVISION = "0008"
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
    encoding: str = "UTF8"
    """What the database stores text in."""
    read_only: bool = False
    """A standby, or set so."""
    closed: str | None = None
    """The names of what is there and the role may not use."""


def connect(conninfo: str) -> Connection[TupleRow]:
    """A connection in autocommit mode. Raises DatabaseUnreachable with one line that says why."""
    try:
        connection = psycopg.connect(ours(conninfo), autocommit=True, connect_timeout=CONNECT_SECONDS)
    except psycopg.Error as error:
        raise unreachable(error, conninfo) from error
    try:
        connection.execute(PLAIN)
    except psycopg.Error as error:
        connection.close()
        raise unreachable(error, conninfo) from error
    return connection


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
    """Asks the server for its facts. Raises DatabaseUnreachable or DatabaseUnsuitable where it does not tell them."""
    with answering(connection.info.dsn):
        return facts_of(connection)


@contextmanager
def answering(conninfo: str) -> Iterator[None]:
    """Turns what a database answers to plain questions into what to do about it."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnsuitable(without_rights("its tables")) from error
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        raise DatabaseUnsuitable(
            f"memex's schema in the database is not whole ({first_line(error)}): restore it from a backup."
        ) from error
    except psycopg.Error as error:
        raise unreachable(error, conninfo) from error


def without_rights(what: str) -> str:
    """What to do for a role that may not use `what`."""
    return (
        f"The database role may not use {what}: have an administrator make it the owner of the schema memex, or run "
        "GRANT USAGE ON SCHEMA memex and GRANT ALL ON ALL TABLES and ALL FUNCTIONS IN SCHEMA memex to it."
    )


def facts_of(connection: Connection[TupleRow]) -> Facts:
    """The facts. Rights come before what they are needed for."""
    available, installed = one(
        connection,
        "SELECT (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),"
        " (SELECT extversion FROM pg_extension WHERE extname = 'vector')",
    )
    number = revision = closed = None
    if one(connection, "SELECT to_regclass('memex.compatibility') IS NOT NULL")[0]:
        number = one(connection, "SELECT max(number) FROM memex.compatibility")[0]
        revision = one(connection, "SELECT max(version_num) FROM memex.alembic_version")[0]
        closed = one(connection, RIGHTS)[0]
    encoding, read_only = one(
        connection, "SELECT current_setting('server_encoding'), current_setting('transaction_read_only') = 'on'"
    )
    version = connection.info.server_version
    return Facts(version, available, installed, number, revision, encoding, read_only, closed)


def one(connection: Connection[TupleRow], statement: str | bytes) -> TupleRow:
    """The only row of a statement."""
    row = connection.execute(statement.encode() if isinstance(statement, str) else statement).fetchone()
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
    check_database(facts)


def check_database(facts: Facts) -> None:
    """What a database must be like that the server decides nothing about. Raises DatabaseUnsuitable."""
    if facts.encoding != "UTF8":
        raise DatabaseUnsuitable(
            f"The database stores text as {facts.encoding} and memex needs UTF8: make another one with "
            "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0."
        )
    if facts.read_only:
        raise DatabaseUnsuitable(
            "The database is read-only: connect to the primary server, and look at default_transaction_read_only "
            "of the role and the database."
        )
    if facts.closed:
        raise DatabaseUnsuitable(without_rights(facts.closed))


def is_current(facts: Facts) -> bool:
    """Whether there is nothing to migrate. A later revision of the same compatibility is fine as it is."""
    return facts.installed is not None and facts.revision is not None and facts.revision >= REVISION
