"""Brings a database to this version's schema. The only module that imports SQLAlchemy: never while serving."""

import sqlalchemy
from alembic import command
from alembic.config import Config
from psycopg import Connection, errors
from psycopg.rows import TupleRow
from sqlalchemy.pool import StaticPool

from memex.errors import DatabaseUnsuitable
from memex.store import migrations
from memex.store.schema import check_server, connect, inspect, is_current

LOCK = 0x6D656D6578
"""Of a whole upgrade, in the database's space of advisory locks: "memex" in ASCII."""


def upgrade(conninfo: str) -> None:
    """Run the missing steps, each in its own transaction; of two processes at once one waits and finds nothing to do.

    Raises DatabaseUnreachable, DatabaseUnsuitable or SchemaTooNew, all with what to do.
    """
    with connect(conninfo) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        facts = inspect(connection)
        check_server(facts)
        if not is_current(facts):
            prepare(connection)
            run_revisions(connection)


def prepare(connection: Connection[TupleRow]) -> None:
    """The extension, and the schema that all of ours lives in."""
    name = connection.info.dbname
    try:
        # Not `IF NOT EXISTS` first: it asks for the right to create even where there is nothing to create.
        if not connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone():
            connection.execute("CREATE EXTENSION vector WITH SCHEMA public")
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnsuitable(
            f"The extension is missing: have an administrator run CREATE EXTENSION vector in database {name}."
        ) from error
    try:
        if not connection.execute("SELECT FROM pg_namespace WHERE nspname = 'memex'").fetchone():
            connection.execute("CREATE SCHEMA memex")
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnsuitable(
            f"The role may not create the schema memex: GRANT CREATE ON DATABASE {name} to it."
        ) from error


def run_revisions(connection: Connection[TupleRow]) -> None:
    """Alembic without its file of settings: the steps are in the package, the connection and its lock are ours."""
    config = Config()
    config.set_main_option("script_location", str(migrations.FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    connection.autocommit = False
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    with engine.connect() as config.attributes["connection"]:
        command.upgrade(config, "head")
