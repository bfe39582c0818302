"""The role and the database of memex inside its own server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

from memex.errors import BackupUnusable, DatabaseUnreachable
from memex.store.conninfo import ENCODING
from memex.store.embedded.configuration import DATABASE, ROLE, SUPERUSER
from memex.store.embedded.trouble import without_paths

CONNECT_SECONDS = 10
NEUTRAL = {
    "hostaddr": "",
    "options": "",
    "require_auth": "",
    "target_session_attrs": "any",
    "sslmode": "disable",
    "sslnegotiation": "postgres",
    "gssencmode": "disable",
    "channel_binding": "disable",
}
"""What is meant for a server elsewhere, and would keep us from our own socket."""


def conninfo(sockets: Path, user: str = ROLE, database: str = DATABASE) -> str:
    """How libpq reaches the server; everything is named, so that no `PG…` variable leads elsewhere."""
    return make_conninfo(host=str(sockets), port=5432, user=user, dbname=database, **NEUTRAL, **ENCODING)


def ensure(sockets: Path) -> None:
    """Make the role, the extension and the database, if they are missing. Proves that the server answers.

    The role is an ordinary one that owns its database, as it would be on a server of somebody else; the extension
    needs the superuser, so it is made here, and in the template for further databases.
    Raises DatabaseUnreachable.
    """
    try:
        if not role_exists(sockets):
            run(sockets, "postgres", f"CREATE ROLE {ROLE} LOGIN")
        if not database_exists(sockets):
            run(sockets, "template1", "CREATE EXTENSION IF NOT EXISTS vector")
            run(sockets, "postgres", f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        run(sockets, DATABASE, "CREATE EXTENSION IF NOT EXISTS vector", "ALTER EXTENSION vector UPDATE")
    except psycopg.Error as error:
        reason = without_paths(" ".join(str(error).split()))
        raise DatabaseUnreachable(f"The embedded PostgreSQL does not let memex in: {reason}") from error


@contextmanager
def keeping_log(sockets: Path) -> Iterator[None]:
    """The server throws away no write-ahead log of now and later during the body, however long it takes.

    What keeps it goes with our connection, however that ends. Raises BackupUnusable.
    """
    try:
        with psycopg.connect(
            conninfo(sockets, SUPERUSER, "postgres"), autocommit=True, connect_timeout=CONNECT_SECONDS
        ) as connection:
            slot = f"memex_backup_{os.getpid()}"
            connection.execute("SELECT pg_create_physical_replication_slot(%s, true, true)", [slot])
            yield
    except psycopg.Error as error:
        reason = without_paths(" ".join(str(error).split()))
        raise BackupUnusable(f"The backup could not be made: {reason}") from error


def role_exists(sockets: Path) -> bool:
    """Whether the role is there."""
    return bool(run(sockets, "postgres", f"SELECT FROM pg_roles WHERE rolname = '{ROLE}'"))


def database_exists(sockets: Path) -> bool:
    """Whether the database is there."""
    return bool(run(sockets, "postgres", f"SELECT FROM pg_database WHERE datname = '{DATABASE}'"))


def run(sockets: Path, database: str, *statements: LiteralString) -> int:
    """Run statements as the superuser, each by itself. Returns the rows of the last one."""
    rows = 0
    target = conninfo(sockets, SUPERUSER, database)
    with psycopg.connect(target, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
        for statement in statements:
            rows = connection.execute(statement).rowcount
    return rows
