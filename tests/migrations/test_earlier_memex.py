"""A memex that was started before a step goes on working on its open connections after it."""

import psycopg
from psycopg.rows import TupleRow

from memex.model import content_hash
from memex.store import migrate, migrations, schema

# The calls as the first release makes them.
WRITE = """
SELECT w.place, w.created, (w.memory).duplicate_of, (w.memory).version
FROM memex.memex_write(7, 'default', 'ana', 'm', ARRAY[ROW(
    %s, 'agent', %s, %s, 1, 'episodic', 'private', '{}', '{}', NULL, NULL, NULL, NULL, NULL, NULL, '{1}', '{1}', 1,
    ARRAY['[1,0]'::halfvec]
)::memex.new_memory]) AS w
"""
DELETE = "SELECT d.deleted FROM memex.memex_delete(7, 'default', 'ana', ARRAY['agent'], ARRAY[%s::uuid]) AS d"
CHANGE = """
SELECT c.outcome FROM memex.memex_change(7, 'default', 'ana', 'm', ARRAY[ROW(
    %s, 'agent', NULL, 1.5, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL
)::memex.memory_change]) AS c
"""
FIRST, SECOND = ("00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002")


def first_release(conninfo: str) -> None:
    """The schema before the step, as Alembic leaves it."""
    with psycopg.connect(conninfo) as connection:
        migrate.prepare(connection)
        for step in ("0001_memories", "0002_statistics"):
            connection.execute((migrations.FOLDER / "versions" / f"{step}.sql").read_bytes())
        connection.execute("CREATE TABLE memex.alembic_version (version_num varchar(32) PRIMARY KEY)")
        connection.execute("INSERT INTO memex.alembic_version VALUES ('0002')")
        connection.execute("INSERT INTO memex.models VALUES ('m', 'r', 2, true)")


def write(connection: psycopg.Connection[TupleRow], memory_id: str) -> list[TupleRow]:
    return connection.execute(WRITE, [memory_id, "tea", content_hash("tea")], prepare=True).fetchall()


def test_an_earlier_memex_writes_and_deletes_on(empty_database: str):
    first_release(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as earlier:
        assert write(earlier, FIRST) == [(1, True, None, 1)]
        assert earlier.execute(DELETE, [SECOND], prepare=True).fetchall() == []
        migrate.upgrade(empty_database)
        schema.verify(empty_database)
        assert [str(value) for value in write(earlier, SECOND)[0]] == ["1", "True", FIRST, "1"]
        with psycopg.connect(empty_database, autocommit=True) as later:
            assert later.execute(CHANGE, [FIRST]).fetchall() == [("changed",)]
            assert later.execute("SELECT count(*) FROM memex.memory_versions").fetchall() == [(1,)]
            assert len(earlier.execute(DELETE, [FIRST], prepare=True).fetchall()) == 1
            assert later.execute("SELECT count(*) FROM memex.memory_versions").fetchall() == [(0,)]
