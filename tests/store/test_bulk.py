"""Many rows at once become what the same rows become one by one."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from memex.errors import MemexError
from memex.model import Space
from memex.store import RequestKey, Stored, Write, Writes
from tests.store.making import SPACE, a_write, new_id, vector

ALONE = Space("default", "ben")
PAST, FUTURE = (datetime.now(UTC) + timedelta(days=days) for days in (-1, 1))
ROWS = b"""
SELECT
    m.id, m.duplicate_of, m.content, m.agent_id, m.importance, m.memory_type, m.visibility, m.tags, m.metadata,
    m.session_id, m.source, m.external_id, m.state, m.version, m.terms, m.term_counts, m.terms_version,
    m.created_at = m.recorded_at, m.updated_at = m.recorded_at, m.expires_at - m.recorded_at < interval '1 hour',
    (SELECT array_agg(v.embedding::text ORDER BY v.chunk) FROM memex.memory_vectors AS v
    WHERE v.space_key = m.space_key AND v.memory_id = m.id)
FROM memex.memories AS m WHERE m.space_key = %s ORDER BY m.recorded_at
"""
COUNTS = b"""
SELECT
    s.memory_count, s.vector_count,
    (SELECT array_agg((k.agent_id, k.key, k.outcome, k.memory_version, k.duplicate_of IS NULL)::text
    ORDER BY k.agent_id, k.key) FROM memex.idempotency_keys AS k WHERE k.space_key = s.space_key)
FROM memex.spaces AS s WHERE s.space_key = %s
"""


def rows(random: random.Random, texts: int, names: int) -> list[Write]:
    """Rows of a batch; of fewer texts and names more meet. One row of a text that is wanted once concerns all."""
    once = random.choice([[False], [False, False, False, True]])
    count = random.randrange(12, 32)
    return [row(random, f"text {random.randrange(texts)}", names, random.choice(once)) for _ in range(count)]


def row(random: random.Random, content: str, names: int, once: bool) -> Write:
    name = random.randrange(names)
    changed: dict[str, Any] = {
        "agent_id": random.choice(["agent", "other"]),
        "importance": random.choice([0.5, 1.0]),
        "tags": random.choice([[], ["tea"]]),
        "metadata": random.choice([{}, {"n": 1}]),
        "external_id": random.choice([None, None, f"e{name}"]),
        "expires_at": random.choice([None, None, None, PAST, FUTURE]),
        "ttl_seconds": random.choice([None, 60]),
        "created_at": random.choice([None, PAST]),
        "once": once,
        "key": random.choice([None, RequestKey("batch", f"k{name}", bytes([name % 256]) * 32)]),
        "vectors": [vector(random.random(), 0.5, 0.0, 1.0) for _ in range(random.randrange(1, 3))],
    }
    return a_write(content, **changed)


def there(write: Write) -> Write:
    """The same row for the other space."""
    return msgspec.structs.replace(write, space=ALONE, id=new_id())


async def state(gate: psycopg.AsyncConnection, space: Space) -> tuple[list[Any], list[Any]]:
    """All memories of a space in the order of their storing, pointers by place, and what is counted and noted."""
    found = await (await gate.execute(ROWS, [space.key])).fetchall()
    places = {row[0]: place for place, row in enumerate(found)}
    counts = await (await gate.execute(COUNTS, [space.key])).fetchall()
    return [(places.get(row[1]), *row[2:]) for row in found], counts


def told(outcomes: list[Stored | MemexError], ids: dict[UUID, int]) -> list[Any]:
    return [
        type(one) if isinstance(one, MemexError) else (ids.get(UUID(one.id)), one.created, one.replayed)
        for one in outcomes
    ]


@pytest.mark.parametrize("texts", [4, 1000])
@pytest.mark.parametrize("seed", range(8))
async def test_rows_at_once_are_rows_one_by_one(writes: Writes, gate: psycopg.AsyncConnection, seed: int, texts: int):
    some = random.Random(seed)  # noqa: S311
    ours, theirs = dict[UUID, int](), dict[UUID, int]()
    for names in (1000, 1000, 12):
        batch = rows(some, texts, names)
        copies = [there(write) for write in batch]
        ours |= {write.id: len(ours) + at for at, write in enumerate(batch)}
        theirs |= {write.id: len(theirs) + at for at, write in enumerate(copies)}
        at_once = await writes.write_all(batch)
        one_by_one = [outcome for write in copies for outcome in await writes.write_all([write])]
        assert told(at_once, ours) == told(one_by_one, theirs)
        assert await state(gate, SPACE) == await state(gate, ALONE)


async def test_new_rows_are_told_in_their_order(writes: Writes, gate: psycopg.AsyncConnection):
    batch = [a_write(f"text {number}", external_id=f"e{number}") for number in range(128)]
    outcomes = await writes.write_all(batch)
    assert outcomes == [Stored(str(write.id), True) for write in batch]
    found = await gate.execute(b"SELECT id FROM memex.memories ORDER BY recorded_at")
    assert [id for (id,) in await found.fetchall()] == [write.id for write in batch]
