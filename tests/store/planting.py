"""Rows of an index as memories of the database: what no writer would store among them."""

import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection

from memex.model import EPOCH, IndexRow, Space
from tests.store.making import MODEL

SPACE_ROW = b"INSERT INTO memex.spaces (space_key, tenant_id, user_id, version) VALUES (%s, %s, %s, 1)"
MEMORY = b"""
    INSERT INTO memex.memories (
        space_key, id, agent_id, content, content_hash, importance, memory_type, visibility, state, tags, metadata,
        session_id, source, created_at, recorded_at, updated_at, expires_at, space_version, terms, term_counts,
        terms_version
    ) VALUES (%s, %s, %s, 'x', %s, %s, %s, %s, %s, %s, '{}', %s, %s, %s, %s, %s, %s, 1, %s, %s, 1)
"""
VECTOR = b"""
    INSERT INTO memex.memory_vectors (space_key, memory_id, memory_version, model_id, chunk, embedding)
    VALUES (%s, %s, 1, %s, %s, %s::real[]::vector::halfvec)
"""
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)


def plant(connection: Connection[Any], space: Space, rows: Iterable[IndexRow]) -> None:
    """A new space with these rows."""
    rows = list(rows)
    with connection.cursor() as cursor:
        cursor.execute(SPACE_ROW, (space.key, space.tenant_id, space.user_id))
        cursor.executemany(MEMORY, [memory(space, row) for row in rows])
        cursor.executemany(VECTOR, [vector for row in rows for vector in vectors(space, row)])
    connection.commit()


def memory(space: Space, row: IndexRow) -> tuple[Any, ...]:
    return (
        space.key, UUID(bytes=row.id), row.agent_id, row.content_hash, row.importance, row.memory_type, row.visibility,
        row.state, row.tags, row.session_id, row.source, moment(row.created_at), WRITTEN, WRITTEN,
        None if row.expires_at is None else moment(row.expires_at), row.terms, row.term_counts,
    )  # fmt: skip


def vectors(space: Space, row: IndexRow) -> Iterable[tuple[Any, ...]]:
    for chunk, packed in enumerate(row.vectors):
        yield space.key, UUID(bytes=row.id), MODEL.id, chunk, list(struct.unpack(f"<{len(packed) // 2}e", packed))


def moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
