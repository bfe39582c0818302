"""The tables and the statements: each statement takes a connection of the pool and is a transaction of its own."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import asyncpg
from psycopg.conninfo import conninfo_to_dict

from bench.reference.encoding import Vector
from bench.reference.messages import NewMemory, Search

Candidate = Mapping[str, Any]
"""A row of memories, from a search with its `similarity`."""

LEAST_CONNECTIONS = 5
MOST_CONNECTIONS = 20
COMMAND_SECONDS = 10.0

# The vector index is made while the table is empty, as in the original: its centres are random for ever.
SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    id uuid PRIMARY KEY,
    agent_id text NOT NULL,
    user_id text NOT NULL,
    content text NOT NULL,
    importance real NOT NULL,
    memory_type text NOT NULL,
    embedding vector(384),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS memories_owner ON memories (agent_id, user_id);
CREATE INDEX IF NOT EXISTS memories_embedding ON memories
    USING ivfflat (embedding vector_cosine_ops) WITH (lists = 100);
CREATE TABLE IF NOT EXISTS rate_limits (
    agent_id text, operation text, minute timestamptz, count bigint NOT NULL,
    PRIMARY KEY (agent_id, operation, minute)
);
CREATE TABLE IF NOT EXISTS started_workers (pid integer PRIMARY KEY);
TRUNCATE started_workers;
"""
COLUMNS = "id, agent_id, user_id, content, importance, memory_type, created_at"
INSERT = f"""
INSERT INTO memories (id, agent_id, user_id, content, importance, memory_type, embedding)
VALUES ($1, $2, $3, $4, $5, $6, $7::vector) RETURNING {COLUMNS}
"""  # noqa: S608 (the columns are ours)
NEAREST = f"""
SELECT {COLUMNS}, 1 - (embedding <=> $1::vector) AS similarity FROM memories
WHERE agent_id = $2 AND user_id = $3 ORDER BY embedding <=> $1::vector LIMIT $4
"""  # noqa: S608
NEAREST_OF_TYPE = NEAREST.replace("ORDER BY", "AND memory_type = $5 ORDER BY")
TAKE = """
INSERT INTO rate_limits (agent_id, operation, minute, count) VALUES ($1, $2, $3, 1)
ON CONFLICT (agent_id, operation, minute) DO UPDATE SET count = rate_limits.count + 1 RETURNING count
"""


async def open_pool(dsn: str) -> asyncpg.Pool:
    """A worker's connections."""
    return await asyncpg.create_pool(
        dsn, min_size=LEAST_CONNECTIONS, max_size=MOST_CONNECTIONS, command_timeout=COMMAND_SECONDS
    )


async def prepare(dsn: str) -> None:
    """Makes the tables, where they are missing, before any worker starts."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(SCHEMA)
    await connection.close()


def dsn(conninfo: str) -> str:
    """The address of libpq's connection string as asyncpg takes it."""
    parts = {name: quote(str(value), safe="") for name, value in conninfo_to_dict(conninfo).items()}
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}&port={parts['port']}"


def as_text(vector: Vector) -> str:
    """`[0.1,…]`: seven to eight kilobytes that the database parses again."""
    return "[" + ",".join(str(value) for value in vector.tolist()) + "]"


async def take(pool: asyncpg.Pool, agent: str, operation: str) -> int:
    """One durable write for each request: how many there were in this minute, this one included."""
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    return int(await pool.fetchval(TAKE, agent, operation, minute))


async def insert(pool: asyncpg.Pool, new: NewMemory, vector: Vector) -> Candidate:
    """Stores one memory."""
    values = (new.agent_id, new.user_id, new.content, new.importance, new.memory_type.value)
    row: Candidate = await pool.fetchrow(INSERT, uuid4(), *values, as_text(vector))
    return row


async def nearest(pool: asyncpg.Pool, search: Search, vector: Vector, limit: int) -> list[Candidate]:
    """The rows that the index, or the planner's other plan, thinks most similar."""
    given = (as_text(vector), search.agent_id, search.user_id, limit)
    if search.memory_type is None:
        return list(await pool.fetch(NEAREST, *given))
    return list(await pool.fetch(NEAREST_OF_TYPE, *given, search.memory_type.value))


async def delete(pool: asyncpg.Pool, memory_id: UUID, agent: str) -> bool:
    """Whether there was one of this agent."""
    done = await pool.execute("DELETE FROM memories WHERE id = $1 AND agent_id = $2", memory_id, agent)
    return bool(done == "DELETE 1")


async def count(pool: asyncpg.Pool, agent: str, user: str) -> int:
    """Of one user."""
    return int(await pool.fetchval("SELECT count(*) FROM memories WHERE agent_id = $1 AND user_id = $2", agent, user))


async def register(pool: asyncpg.Pool, pid: int) -> None:
    """Notes that a worker is ready."""
    await pool.execute("INSERT INTO started_workers VALUES ($1) ON CONFLICT DO NOTHING", pid)


async def started_workers(pool: asyncpg.Pool) -> int:
    """How many workers are ready."""
    return int(await pool.fetchval("SELECT count(*) FROM started_workers"))
