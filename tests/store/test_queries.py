"""Every statement lives in a file that says what for, is used once, and fits the schema."""

import re
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.pq import ExecStatus

from memex.store import queries
from memex.store.connection import Connection
from memex.store.pool import Pool

STORE = Path(queries.__file__).parent
STATEMENTS = sorted(path.stem for path in queries.FOLDER.glob("*.sql"))
PARTS = sorted((queries.FOLDER / "parts").glob("*.sql"))


ROWS = """
    INSERT INTO memex.memories (
        space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, tags, metadata,
        created_at, recorded_at, updated_at, space_version, terms, term_counts, terms_version
    )
    SELECT
        SPACE, gen_random_uuid(), 'a', 'a', sha256(n::text::bytea), 1, 'episodic', 'private', '{}', '{}',
        now(), now(), now(), n, '{1}', '{1}', 1
    FROM generate_series(1, 3000) AS g (n)
"""
VECTORS = """
    INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
    SELECT SPACE, gen_random_uuid(), 1, 'test-model', 0, '[1,2,3,4]' FROM generate_series(1, 3000) AS g (n)
"""


def test_every_statement_can_be_prepared(database: str):
    with psycopg.connect(database) as connection:
        results = {name: connection.pgconn.prepare(b"", queries.load(name)) for name in STATEMENTS}
        assert {name: r.error_message for name, r in results.items() if r.status != ExecStatus.COMMAND_OK} == {}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_loaded_and_used_once(name: str):
    sources = {path: path.read_text(encoding="utf-8") for path in STORE.glob("*.py")}
    loading = [re.search(rf'^(\w+) = load\("{name}"\)$', text, re.MULTILINE) for text in sources.values()]
    constants = [match[1] for match in loading if match]
    assert len(constants) == 1
    used = next(text for text in sources.values() if f'load("{name}")' in text)
    assert len(re.findall(rf"\b{constants[0]}\b", used)) == 2


@pytest.mark.parametrize("path", [queries.FOLDER / f"{name}.sql" for name in STATEMENTS] + PARTS, ids=lambda p: p.stem)
def test_a_file_begins_with_what_it_is_for(path: Path):
    assert re.match(r"-- \S.{10,}[.:]\n", path.read_text(encoding="utf-8")) or "\n-- " in path.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("part", [path.stem for path in PARTS])
def test_a_part_is_taken_in(part: str):
    assert any(f"{{{{{part}}}}}" in path.read_text(encoding="utf-8") for path in queries.FOLDER.glob("*.sql"))


def test_who_may_see_what_is_written_once():
    texts = [path.read_text(encoding="utf-8") for path in queries.FOLDER.rglob("*.sql")]
    assert sum("'shared'" in text for text in texts) == 1


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("hits", "memories_id|memories_pkey"),
        ("first", "memories_pkey"),
        ("window", "memories_pkey"),
        ("changed", "memories_changes"),
        ("removed", "tombstones_pkey"),
        ("count", "memories_live"),
        ("locate", "memories_id"),
        ("deleted", "idempotency_keys_memory"),
        ("outdated", "idempotency_keys_age"),
        ("outdated", "idempotency_keys_pkey"),
        ("ranked", "memory_vectors_pkey"),
        ("known", "memory_vectors_pkey"),
        ("known", "memory_versions_pkey"),
    ],
)
async def test_the_first_plan_is_right_before_there_are_rows(pool: Pool, name: str, index: str):
    """It is cached, so it must not be one that only suits an empty table."""
    assert re.search(rf"Scan (using|on) ({index})\b", await pool.run(plan, name))


@pytest.mark.parametrize("name", ["matching", "ranked", "tally"])
async def test_a_scope_costs_its_own_memories_and_the_shared_ones(pool: Pool, name: str):
    await pool.run(crowd)
    both = r"BitmapOr .*\n.* on memories_(text|live) .*\n.*\n.* on memories_shared "
    assert re.search(both, await pool.run(plan, name))


async def crowd(connection: Connection) -> None:
    """A space of many agents, as statistics have it once PostgreSQL has looked."""
    await connection.execute(b"""
        INSERT INTO memex.memories (
            space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, tags, metadata,
            created_at, recorded_at, updated_at, space_version, terms, term_counts, terms_version
        )
        SELECT
            1, gen_random_uuid(), n % 100, 'x', sha256(n::text::bytea), 1, 'episodic',
            CASE n % 50 WHEN 0 THEN 'shared' ELSE 'private' END, '{}', '{}', now(), now(), now(), n, '{1}', '{1}', 1
        FROM generate_series(1, 4000) AS g (n)
    """)
    await connection.execute(b"ANALYZE memex.memories")


@pytest.mark.parametrize(
    ("name", "index"), [("memories_stream", "memories_pkey"), ("vectors_stream", "memory_vectors_pkey")]
)
@pytest.mark.parametrize("spaces", ["0", "n"])
async def test_a_stream_follows_the_primary_key_whatever_the_planner_knows(
    pool: Pool, database: str, name: str, index: str, spaces: str
):
    """Of a database of one space, and of one of many."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(ROWS.replace("SPACE", spaces).encode())
        connection.execute(VECTORS.replace("SPACE", spaces).encode())
        connection.execute("ANALYZE memex.memories, memex.memory_vectors")
    text = queries.load(name).decode()
    inner = text[text.index("(") + 1 : text.rindex(") TO STDOUT")]
    found = await pool.run(inner_plan, inner)
    assert re.search(rf"Index Scan using {index} ", found)
    assert "Sort" not in found
    assert "Filter: (space_key" not in found


@pytest.mark.parametrize("name", ["hits", "state", "standing", "model"])
async def test_the_current_model_is_planned_as_one_row(pool: Pool, name: str):
    assert re.search(r"Index Scan using models_current on models .* rows=1 ", await pool.run(plan, name))


async def inner_plan(connection: Connection, inner: str) -> str:
    async with connection.transaction():
        for setting, value in (("space", "1"), ("after", str(UUID(int=0))), ("last", str(UUID(int=2**128 - 1)))):
            await connection.execute("SELECT set_config($1, $2, true)", [f"memex.{setting}", value])
        cursor = await connection.execute(f"EXPLAIN {inner}".encode(), prepare=False)
        return "\n".join(row[0] for row in await cursor.fetchall())


async def plan(connection: Connection, name: str) -> str:
    if connection.info.server_version < 160_000:
        pytest.skip("this server does not show generic plans")
    cursor = await connection.execute(b"EXPLAIN (GENERIC_PLAN) " + queries.load(name), prepare=False)
    return "\n".join(row[0] for row in await cursor.fetchall())
