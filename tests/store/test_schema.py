"""Each bounded column refuses what is out of bounds, whoever writes it."""

import psycopg
import pytest
from psycopg import sql

from memex.errors import DatabaseUnsuitable, SchemaTooNew
from memex.store import schema
from memex.store.schema import Facts

ROWS: dict[str, dict[str, object]] = {
    "spaces": {"space_key": 1, "tenant_id": "t", "user_id": "u", "version": 3},
    "models": {"id": "m", "revision": "r", "dimensions": 4, "is_current": False},
    "memory_vectors": {
        "space_key": 1, "memory_id": "00000000-0000-7000-8000-000000000001", "memory_version": 1, "model_id": "m",
        "chunk": 0, "embedding": "[1,2]",
    },
    "tombstones": {
        "space_key": 1, "space_version": 1, "memory_id": "00000000-0000-7000-8000-000000000001", "deleted_at": "now",
    },
    "memories": {
        "space_key": 1, "id": "00000000-0000-7000-8000-000000000001", "agent_id": "a", "content": "c",
        "content_hash": bytes(32), "importance": 1.0, "memory_type": "episodic", "visibility": "private", "tags": [],
        "metadata": "{}", "created_at": "2024-01-01Z", "recorded_at": "2024-01-01Z", "updated_at": "2024-01-01Z",
        "space_version": 1, "terms": [1], "term_counts": [1], "terms_version": 1,
    },
    "memory_versions": {
        "space_key": 1, "memory_id": "00000000-0000-7000-8000-000000000001", "version": 1, "agent_id": "a",
        "content": "c", "content_hash": bytes(32), "importance": 1.0, "memory_type": "episodic",
        "visibility": "private", "state": "active", "tags": [], "metadata": "{}", "created_at": "2024-01-01Z",
        "recorded_at": "2024-01-01Z", "terms": [1], "term_counts": [1], "terms_version": 1, "vectors": [],
        "valid_from": "2024-01-01Z", "valid_to": "2024-01-02Z",
    },
}  # fmt: skip

LONG = "é" * 129
GOOD: dict[str, list[dict[str, object]]] = {
    "memories": [
        {}, {"agent_id": "é" * 128}, {"content": "é" * 8000}, {"importance": 0}, {"importance": 2},
        {"tags": ["é" * 64] * 32}, {"session_id": "s", "source": "s", "external_id": "e"},
        {"created_at": "0001-01-01Z"},
        {"created_at": "9999-12-31T23:59:59.999999Z"}, {"state": "archived"}, {"terms": [], "term_counts": []},
    ],
    "memory_vectors": [{}, {"chunk": 31}],
    "spaces": [{}, {"floor_version": 3}, {"tenant_id": "é" * 128}],
    "models": [{}], "tombstones": [{}], "memory_versions": [{}],
}  # fmt: skip
BAD: dict[str, list[dict[str, object]]] = {
    "memories": [
        {"agent_id": ""}, {"agent_id": LONG}, {"agent_id": None}, {"content": ""}, {"content": "é" * 8001},
        {"content_hash": bytes(31)}, {"importance": -0.01}, {"importance": 2.01}, {"importance": "NaN"},
        {"importance": "Infinity"}, {"memory_type": "other"}, {"visibility": "public"}, {"state": "gone"},
        {"tags": [""]}, {"tags": ["é" * 65]}, {"tags": ["x"] * 33}, {"tags": [None]}, {"tags": [["a"], ["b"]]},
        {"metadata": "[]"}, {"metadata": '"text"'}, {"metadata": '{"a": "' + "x" * 2**20 + '"}'},
        {"session_id": ""}, {"session_id": LONG}, {"source": ""}, {"source": LONG}, {"external_id": ""},
        {"external_id": LONG}, {"created_at": "infinity"}, {"created_at": "-infinity"}, {"created_at": "0001-01-01 BC"},
        {"created_at": "10000-01-01Z"}, {"expires_at": "infinity"}, {"expires_at": "10000-01-01Z"}, {"version": 0},
        {"updated_at": "2023-12-31Z"}, {"space_version": 0}, {"terms": [1, 2]}, {"term_counts": []},
        {"term_counts": [0]}, {"terms_version": 0}, {"duplicate_of": "00000000-0000-7000-8000-000000000001"},
    ],
    "memory_vectors": [{"chunk": -1}, {"chunk": 32}, {"memory_version": 0}, {"embedding": None}, {"embedding": "[]"}],
    "spaces": [
        {"tenant_id": ""}, {"tenant_id": LONG}, {"user_id": ""}, {"user_id": LONG}, {"version": 0},
        {"floor_version": -1}, {"floor_version": 4}, {"memory_count": -1}, {"vector_count": -1},
    ],
    "models": [{"id": ""}, {"id": "x" * 257}, {"revision": ""}, {"dimensions": 0}, {"dimensions": 4097}],
    "tombstones": [{"space_version": 0}],
    "memory_versions": [
        {"version": 0}, {"agent_id": None}, {"valid_to": None}, {"valid_to": "2024-01-01Z"},
        {"valid_from": "2024-01-03Z"},
    ],
}  # fmt: skip


def insert(connection: psycopg.Connection, table: str, values: dict[str, object]) -> None:
    """One row, undone at once."""
    with connection.transaction(force_rollback=True):
        statement = sql.SQL("INSERT INTO memex.{} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        )
        connection.execute(statement, list(values.values()))


@pytest.mark.parametrize("table", ROWS)
def test_columns_refuse_what_is_out_of_bounds(database: str, table: str):
    taken = []
    with psycopg.connect(database) as connection:
        for changed in GOOD[table]:
            insert(connection, table, ROWS[table] | changed)
        for changed in BAD[table]:
            try:
                insert(connection, table, ROWS[table] | changed)
            except (psycopg.IntegrityError, psycopg.DataError):
                continue
            taken.append(changed)
    assert taken == []


def test_there_is_one_current_model(database: str):
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO memex.models VALUES ('a', 'r', 4, true)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO memex.models VALUES ('b', 'r', 4, true)")


def test_every_table_of_a_space_is_keyed_by_it(database: str):
    query = """
        SELECT c.relname, a.attname FROM pg_constraint p JOIN pg_class c ON c.oid = p.conrelid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.conkey[1]
        WHERE p.contype = 'p' AND p.connamespace = 'memex'::regnamespace"""
    with psycopg.connect(database) as connection:
        first = {str(table): str(column) for table, column in connection.execute(query).fetchall()}
    others = {"compatibility", "models", "alembic_version", "removals"}
    assert {first[table] for table in first.keys() - others} == {"space_key"}
    assert first.keys() - others == {
        "spaces",
        "memories",
        "memory_versions",
        "memory_vectors",
        "tombstones",
        "idempotency_keys",
    }


def test_vectors_stay_in_line(database: str):
    query = "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'embedding'"
    with psycopg.connect(database) as connection:
        found = connection.execute(query, ["memex.memory_vectors"]).fetchone()
    assert found == ("p",)


FINE = Facts(160_000, "0.8.5", "0.8.5", schema.COMPATIBILITY, schema.REVISION)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"server": 140_010}, "PostgreSQL 14 is too old: memex needs 15"),
        ({"available": None, "installed": None}, "has no pgvector: install pgvector 0.8"),
        ({"available": "0.7.4", "installed": None}, "pgvector 0.7.4 is too old: install 0.8"),
        ({"installed": "0.7.4"}, "ALTER EXTENSION vector UPDATE"),
    ],
)
def test_an_unsuitable_server_is_told_with_the_remedy(changed: dict[str, object], words: str):
    with pytest.raises(DatabaseUnsuitable, match=words):
        schema.check_server(FINE._replace(**changed))  # type: ignore[arg-type]


def test_a_newer_schema_is_refused_first_of_all():
    with pytest.raises(SchemaTooNew):
        schema.check_server(FINE._replace(compatibility=schema.COMPATIBILITY + 1, server=1))


def test_a_suitable_server_is_taken():
    schema.check_server(FINE)
    schema.check_server(FINE._replace(installed=None, compatibility=None, revision=None, available="0.10.0"))
