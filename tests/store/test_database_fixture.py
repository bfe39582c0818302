"""The fixtures of databases themselves: tests must not see each other's rows."""

import psycopg
import pytest


def tables(conninfo: str) -> int:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'memories'").fetchone()
    return row[0] if row else -1


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_gets_a_fresh_migrated_database(database: str, turn: int):
    assert tables(database) == 1
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE left_behind ()")


def test_a_database_without_schema_is_there_for_migrations(empty_database: str):
    assert tables(empty_database) == 0
