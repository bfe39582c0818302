"""The steps apply to what is there, in one process at a time, and make exactly `schema.sql`."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.errors import DatabaseUnreachable, DatabaseUnsuitable, SchemaTooNew
from memex.store import migrate, migrations, schema
from tests.fixtures.db import Databases
from tests.migrations import snapshot

# The catalogue in words: whatever statements made it, the same schema gives the same lines.
CATALOGUE = """
SELECT format('column %s.%s %s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
              a.attstorage, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'memex'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'c')
UNION ALL
SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE connamespace = 'memex'::regnamespace
UNION ALL
SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = 'memex'
UNION ALL
SELECT format('function %s', pg_get_functiondef(oid)) FROM pg_proc WHERE pronamespace = 'memex'::regnamespace
UNION ALL
SELECT format('table %s %s', relname, reloptions)
FROM pg_class WHERE relnamespace = 'memex'::regnamespace AND relkind = 'r'
"""


def catalogue(conninfo: str) -> list[str]:
    with psycopg.connect(conninfo) as connection:
        lines = [str(row[0]) for row in connection.execute(CATALOGUE).fetchall()]
    return sorted(line for line in lines if "alembic_version" not in line)


@pytest.fixture
def role(databases: Databases, empty_database: str) -> Iterator[str]:
    """The connection string of a role that may connect to the empty database and nothing more."""
    name = f"{conninfo_to_dict(empty_database)['dbname']}_role"
    databases.execute("CREATE ROLE {} LOGIN", sql.Identifier(name))
    yield name
    with psycopg.connect(
        make_conninfo(databases.admin, dbname=conninfo_to_dict(empty_database)["dbname"])
    ) as connection:
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
    databases.execute("DROP ROLE {}", sql.Identifier(name))


def test_the_migrations_make_what_schema_sql_says(database: str, empty_database: str):
    with psycopg.connect(empty_database) as connection:
        migrate.prepare(connection)
        connection.execute("DROP SCHEMA memex")
        connection.execute(snapshot.FILE.read_bytes())
    assert catalogue(empty_database) == catalogue(database)


def test_the_newest_step_is_the_one_that_the_code_names():
    steps = sorted(path.stem for path in (migrations.FOLDER / "versions").glob("*.py"))
    assert steps[-1].split("_")[0] == schema.REVISION
    assert [Path(step).with_suffix(".sql").name for step in steps] == sorted(
        path.name for path in (migrations.FOLDER / "versions").glob("*.sql")
    )


def test_the_newest_step_brings_the_number_that_the_code_knows(database: str):
    with psycopg.connect(database) as connection:
        facts = schema.inspect(connection)
    assert (facts.compatibility, facts.revision) == (schema.COMPATIBILITY, schema.REVISION)


def test_upgrading_twice_changes_nothing(empty_database: str):
    migrate.upgrade(empty_database)
    before = catalogue(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("INSERT INTO memex.models VALUES ('m', 'r', 4, true)")
    migrate.upgrade(empty_database)
    schema.verify(empty_database)
    assert catalogue(empty_database) == before
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT id FROM memex.models").fetchone() == ("m",)


def test_processes_that_start_at_once_all_succeed(empty_database: str):
    code = (
        "import sys; from memex.store import migrate, schema; migrate.upgrade(sys.argv[1]); schema.verify(sys.argv[1])"
    )
    command = [sys.executable, "-W", "error", "-c", code, empty_database]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [(process.communicate(), process.returncode) for process in processes] == [(("", ""), 0)] * 3


def test_an_upgrade_waits_for_the_one_in_work(databases: Databases, empty_database: str):
    name = sql.Identifier(str(conninfo_to_dict(empty_database)["dbname"]))
    databases.execute("ALTER DATABASE {} SET lock_timeout = 1", name)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [migrate.LOCK])
        second = threading.Thread(target=migrate.upgrade, args=[empty_database])
        second.start()
        row = None
        while row is None:
            row = connection.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").fetchone()
        assert connection.execute("SELECT to_regclass('memex.memories')").fetchone() == (None,)
    second.join()
    schema.verify(empty_database)


def test_a_step_that_fails_leaves_nothing_behind(empty_database: str):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA memex")
        connection.execute("CREATE TABLE memex.tombstones (x integer)")
    with pytest.raises(DatabaseUnsuitable, match='relation "tombstones" already exists'):
        migrate.upgrade(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        assert connection.execute("SELECT to_regclass('memex.memories')").fetchone() == (None,)
        connection.execute("DROP TABLE memex.tombstones")
    migrate.upgrade(empty_database)
    schema.verify(empty_database)


def test_a_table_of_another_service_is_left_alone(empty_database: str):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.memories (id integer); INSERT INTO public.memories VALUES (7)")
    migrate.upgrade(empty_database)
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT id FROM public.memories").fetchone() == (7,)


def test_a_newer_schema_is_refused(database: str):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.compatibility SET number = %s", [schema.COMPATIBILITY + 1])
    for act in (migrate.upgrade, schema.verify):
        with pytest.raises(SchemaTooNew):
            act(database)


def test_a_later_step_of_the_same_compatibility_is_taken(database: str):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.alembic_version SET version_num = '9999'")
    migrate.upgrade(database)
    schema.verify(database)


def test_a_database_without_tables_is_told_to_migrate(empty_database: str):
    with pytest.raises(DatabaseUnsuitable, match="memex migrate"):
        schema.verify(empty_database)


def refused(conninfo: str) -> set[str]:
    """The one line of each way to start with a database."""
    messages = set()
    for act in (migrate.upgrade, schema.verify):
        with pytest.raises(DatabaseUnsuitable) as raised:
            act(conninfo)
        messages.add(raised.value.message)
    assert not any("\n" in message for message in messages)
    return messages


@pytest.mark.parametrize("client", ["UTF8", "SQL_ASCII", "LATIN1"])
@pytest.mark.parametrize("stored", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_utf8_is_refused_with_the_remedy(
    databases: Databases, empty_database: str, monkeypatch: pytest.MonkeyPatch, stored: str, client: str
):
    monkeypatch.setenv("PGCLIENTENCODING", client)
    name = f"{conninfo_to_dict(empty_database)['dbname']}_other"
    databases.execute(
        "CREATE DATABASE {} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING {}",
        sql.Identifier(name),
        sql.Identifier(stored),
    )
    try:
        (message,) = refused(databases.conninfo(name))
    finally:
        databases.drop(name)
    assert f"as {stored}" in message
    assert "ENCODING 'UTF8' TEMPLATE template0" in message


def test_settings_of_a_database_and_the_environment_change_no_step(
    databases: Databases, database: str, empty_database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off -c DateStyle=German -c lock_timeout=1")
    name = sql.Identifier(str(conninfo_to_dict(empty_database)["dbname"]))
    databases.execute("ALTER DATABASE {} SET client_encoding = 'LATIN1'", name)
    databases.execute("ALTER DATABASE {} SET search_path = nowhere", name)
    databases.execute("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'", name)
    databases.execute("ALTER DATABASE {} SET bytea_output = 'escape'", name)
    databases.execute("ALTER DATABASE {} SET IntervalStyle = 'sql_standard'", name)
    databases.execute("ALTER DATABASE {} SET TimeZone = 'Asia/Tokyo'", name)
    migrate.upgrade(empty_database)
    schema.verify(empty_database)
    databases.execute("ALTER DATABASE {} RESET ALL", name)
    monkeypatch.undo()
    assert catalogue(empty_database) == catalogue(database)


def test_a_read_only_database_is_told_to_be_one(databases: Databases, database: str):
    name = sql.Identifier(str(conninfo_to_dict(database)["dbname"]))
    databases.execute("ALTER DATABASE {} SET default_transaction_read_only = on", name)
    (message,) = refused(database)
    assert "read-only" in message


@pytest.mark.parametrize(
    ("taken", "named"),
    [
        ("ALL ON memex.compatibility", "its tables"),
        ("ALL ON memex.alembic_version", "its tables"),
        ("INSERT ON memex.memories", "memories"),
        ("SELECT, DELETE ON memex.tombstones, memex.spaces", "spaces, tombstones"),
        ("USAGE ON SCHEMA memex", "its tables"),
        ("EXECUTE ON FUNCTION memex.memex_remove", "memex_remove"),
    ],
)
def test_a_role_without_rights_on_the_tables_is_told_what_to_ask_for(database: str, taken: str, named: str):
    with psycopg.connect(database) as connection:
        (powerful,) = connection.execute("SELECT current_setting('is_superuser') = 'on'").fetchall()[0]
        if powerful:
            pytest.skip("nothing can be taken from a superuser")
        connection.execute(f"REVOKE {taken} FROM CURRENT_USER, PUBLIC".encode())
    (message,) = refused(database)
    assert re.search(rf"may not use {named}: .*GRANT", message)


def test_a_schema_that_may_not_be_filled_is_told(empty_database: str):
    with psycopg.connect(empty_database) as connection:
        (powerful,) = connection.execute("SELECT current_setting('is_superuser') = 'on'").fetchall()[0]
        if powerful:
            pytest.skip("nothing can be taken from a superuser")
        connection.execute("CREATE SCHEMA memex; REVOKE CREATE ON SCHEMA memex FROM CURRENT_USER")
    with pytest.raises(DatabaseUnsuitable, match=r"may not use the schema memex: .*owner"):
        migrate.upgrade(empty_database)


def test_a_schema_that_is_not_whole_is_told(database: str):
    with psycopg.connect(database) as connection:
        connection.execute("DROP TABLE memex.alembic_version")
    (message,) = refused(database)
    assert "not whole" in message


def test_a_connection_that_breaks_while_asked_is_one_line(databases: Databases, database: str):
    with schema.connect(database) as connection:
        with psycopg.connect(databases.admin) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(DatabaseUnreachable) as raised:
            schema.inspect(connection)
    assert re.fullmatch(r"The database at [^\n]+\.", raised.value.message)


def as_role(connection: psycopg.Connection, role: str) -> None:
    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))


def test_a_role_without_rights_is_told_what_to_ask_for(databases: Databases, empty_database: str, role: str):
    name = conninfo_to_dict(empty_database)["dbname"]
    admin = make_conninfo(databases.admin, dbname=name)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP EXTENSION IF EXISTS vector")
        as_role(connection, role)
        with pytest.raises(DatabaseUnsuitable, match=f"CREATE EXTENSION vector in database {name}"):
            migrate.prepare(connection)
        connection.execute("RESET ROLE")
        connection.execute("CREATE EXTENSION vector")
        as_role(connection, role)
        with pytest.raises(DatabaseUnsuitable, match=f"GRANT CREATE ON DATABASE {name}"):
            migrate.prepare(connection)


def test_an_extension_in_another_schema_is_found(databases: Databases, empty_database: str):
    admin = make_conninfo(databases.admin, dbname=conninfo_to_dict(empty_database)["dbname"])
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP EXTENSION IF EXISTS vector")
        connection.execute('CREATE SCHEMA "Odd Place"; CREATE EXTENSION vector SCHEMA "Odd Place"')
    migrate.upgrade(admin)
    schema.verify(admin)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"dbname": "no_such_database"}, '"no_such_database" does not exist'),
        ({"user": "nobody_at_all"}, "nobody_at_all"),
        ({"host": "127.0.0.1", "port": 1}, "Connection refused"),
        ({"host": "/nowhere"}, "No such file or directory"),
    ],
)
def test_what_cannot_be_reached_is_one_line(database: str, changed: dict[str, str | int], words: str):
    conninfo = make_conninfo(database, **changed, password="the-secret")
    for act in (migrate.upgrade, schema.verify):
        with pytest.raises(DatabaseUnreachable) as raised:
            act(conninfo)
        assert re.fullmatch(r"The database at [^\n]+\.", raised.value.message)
        assert words in raised.value.message
        assert "the-secret" not in raised.value.message


@pytest.mark.parametrize(
    "conninfo",
    [
        "postgres//user:the-secret@host",
        "the-secret",
        "postgresql://u:mine@the-secret@127.0.0.1:1/x",
        "postgresql://u:12/the-secret@127.0.0.1:1/x",
        "postgresql://u:the-secret/more@127.0.0.1:1/x",
        "postgresql://u:the-secret",
        "host=the-secret@127.0.0.1 port=1",
        "host=127.0.0.1 password=mine the-secret",
    ],
)
def test_a_broken_connection_string_is_not_repeated(conninfo: str):
    for act in (migrate.upgrade, schema.verify):
        with pytest.raises(DatabaseUnreachable, match=r"not a connection string.*%40") as raised:
            act(conninfo)
        assert "the-secret" not in raised.value.message


@pytest.mark.parametrize(
    "conninfo",
    ["postgresql://u:a%40b%2Fc@127.0.0.1:1/x", "postgresql://[::1]:1,127.0.0.1:1/x?password=a@b", "host=/a@b port=1"],
)
def test_escaped_marks_are_taken(conninfo: str):
    with pytest.raises(DatabaseUnreachable, match="cannot be used"):
        schema.verify(conninfo)
