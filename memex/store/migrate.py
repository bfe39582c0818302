"""Brings a database to this version's schema. The only module that imports SQLAlchemy: never while serving."""

import psycopg
import sqlalchemy
from alembic import command
from alembic.config import Config
from psycopg import Connection, errors
from psycopg.rows import TupleRow
from sqlalchemy.pool import StaticPool

from memex.errors import DatabaseUnsuitable, StartupError
from memex.store import migrations
from memex.store.faults import first_line, unreachable
from memex.store.schema import check_server, connect, inspect, is_current, without_rights

LOCK = 0x6D656D6578
"""Of a whole upgrade, in the database's space of advisory locks: "memex" in ASCII."""


def upgrade(conninfo: str) -> None:
    """Run the missing steps, each in its own transaction; of two processes at once one waits and finds nothing to do.

    Raises DatabaseUnreachable, DatabaseUnsuitable or SchemaTooNew, all with what to do.
    """
    with connect(conninfo) as connection:
        try:
            upgrade_alone(connection)
        except (psycopg.Error, sqlalchemy.exc.DBAPIError) as error:
            raise failed(cause(error), conninfo) from error


def cause(error: psycopg.Error | sqlalchemy.exc.DBAPIError) -> BaseException:
    """What the driver said, of Alembic's own statements too."""
    return error.orig or error if isinstance(error, sqlalchemy.exc.DBAPIError) else error


def failed(error: BaseException, conninfo: str) -> StartupError:
    """One line for an upgrade that ended half-way."""
    if isinstance(error, errors.InsufficientPrivilege):
        return DatabaseUnsuitable(without_rights("the schema memex"))
    if isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08")[:2] in ("08", "57"):
        return unreachable(error, conninfo)
    return DatabaseUnsuitable(
        f"The database could not be upgraded, nothing of the failed step was kept: {first_line(error)}."
    )


def upgrade_alone(connection: Connection[TupleRow]) -> None:
    """Wait for the lock, which goes with the connection, then do what is still to be done."""
    connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    facts = inspect(connection)
    check_server(facts)
    if not is_current(facts):
        prepare(connection)
        run_revisions(connection)


def prepare(connection: Connection[TupleRow]) -> None:
    """The extension, and the schema that all of ours lives in."""
    name = connection.info.dbname
    # Asked first, because `IF NOT EXISTS` wants the right to create even where there is nothing to create.
    if connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").rowcount == 0:
        create(connection, b"CREATE EXTENSION vector WITH SCHEMA public", f"CREATE EXTENSION vector in database {name}")
    if connection.execute("SELECT FROM pg_namespace WHERE nspname = 'memex'").rowcount == 0:
        create(connection, b"CREATE SCHEMA memex", f"GRANT CREATE ON DATABASE {name} to memex's role")
    # An extension that somebody put elsewhere is found there; our steps name its type without a schema.
    connection.execute(
        "SELECT set_config('search_path', extnamespace::regnamespace::text, false)"
        " FROM pg_extension WHERE extname = 'vector'"
    )


def create(connection: Connection[TupleRow], statement: bytes, remedy: str) -> None:
    """Run `statement`; raises DatabaseUnsuitable naming the remedy where the role may not."""
    try:
        connection.execute(statement)
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnsuitable(f"The database role lacks a right: have an administrator run {remedy}.") from error


def run_revisions(connection: Connection[TupleRow]) -> None:
    """Alembic without its file of settings: the steps are in the package, the connection and its lock are ours."""
    config = Config()
    config.set_main_option("script_location", str(migrations.FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    connection.autocommit = False
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    with engine.connect() as config.attributes["connection"]:
        command.upgrade(config, "head")
