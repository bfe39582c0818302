"""Values of `memex.model` from and to the rows of PostgreSQL."""

import struct
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from memex.model import IndexRow, Memory, MemoryType, Space, SpaceState, Visibility
from memex.store import wire
from memex.store.faults import DataRefused
from memex.store.wire import field

STATE_COLUMNS = 5
FIELDS = 19
encode_json = msgspec.json.Encoder().encode


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One memory to be stored, checked by the door and embedded."""

    space: Space
    id: UUID
    agent_id: str
    content: str
    content_hash: bytes
    importance: float
    memory_type: MemoryType
    visibility: Visibility
    tags: list[str]
    metadata: dict[str, Any]
    session_id: str | None
    source: str | None
    external_id: str | None
    created_at: datetime | None
    """Aware; None is now by the database's clock."""
    expires_at: datetime | None
    """Aware."""
    ttl_seconds: int | None
    """From now by the database's clock, where `expires_at` is None."""
    terms: list[int]
    term_counts: list[int]
    terms_version: int
    model_id: str
    vectors: list[bytes]
    """One per chunk, little-endian f16."""


class Written(msgspec.Struct, frozen=True):
    """What a write led to. `created` is False where the external id was met before: `memory` is the first one."""

    memory: Memory
    created: bool


class Encoded(msgspec.Struct, frozen=True):
    """A write in binary form, but for the numbers of types that only a connection knows."""

    fields: bytes
    chunks: list[bytes]


def encode(write: Write) -> Encoded:
    """The composite `memex.new_memory`. Raises DataRefused for what has no binary form, as a lone surrogate."""
    try:
        return Encoded(b"".join(fields(write)), [wire.halfvec_element(vector) for vector in write.vectors])
    except (ValueError, OverflowError, struct.error) as error:
        raise DataRefused from error


def fields(write: Write) -> tuple[bytes, ...]:
    """Every field of the composite but the last, the vectors."""
    return (
        field(wire.UUID, write.id.bytes),
        text(write.agent_id),
        text(write.content),
        field(wire.BYTEA, write.content_hash),
        field(wire.FLOAT8, wire.DOUBLE.pack(write.importance)),
        text(write.memory_type),
        text(write.visibility),
        field(wire.TEXTS, wire.text_array(write.tags)),
        field(wire.JSONB, wire.JSON_VERSION + encode_json(write.metadata)),
        text(write.session_id),
        text(write.source),
        text(write.external_id),
        moment(write.created_at),
        moment(write.expires_at),
        field(wire.INT8, None if write.ttl_seconds is None else wire.BIGINT.pack(write.ttl_seconds)),
        field(wire.INT4S, wire.number_array(wire.INT4, "i", write.terms)),
        field(wire.INT2S, wire.number_array(wire.INT2, "h", write.term_counts)),
        field(wire.INT2, wire.SMALLINT.pack(write.terms_version)),
    )


def text(value: str | None) -> bytes:
    """A text field."""
    return field(wire.TEXT, None if value is None else value.encode())


def moment(value: datetime | None) -> bytes:
    """A timestamptz field."""
    return field(wire.TIMESTAMPTZ, None if value is None else wire.timestamptz(value))


def new_memories(rows: list[Encoded], oids: wire.Oids) -> wire.Wire:
    """The parameter `memex.new_memory[]` for one connection."""
    head = wire.LENGTH.pack(FIELDS)
    elements = [
        wire.sized(head + row.fields + field(oids.halfvecs, wire.array_of(oids.halfvec, row.chunks))) for row in rows
    ]
    return wire.Wire(oids.new_memories, wire.array_of(oids.new_memory, elements))


def memory(user_id: str, row: tuple[Any, ...], at: int = 0) -> Memory:
    """A memory from the columns of `parts/shown.sql` and its links, which start at `at`."""
    (
        id_, agent_id, content, importance, memory_type, created_at, tags, metadata, session_id, source, external_id,
        visibility, state, version, updated_at, recorded_at, expires_at, superseded_by, duplicate_of,
    ) = row[at:]  # fmt: skip
    recorded = shown(recorded_at)
    return Memory(
        id=id_,
        agent_id=agent_id,
        user_id=user_id,
        content=content,
        importance=importance,
        memory_type=memory_type,
        created_at=recorded if created_at == recorded_at else shown(created_at),
        tags=tags,
        metadata=metadata,
        session_id=session_id,
        source=source,
        external_id=external_id,
        visibility=visibility,
        state=state,
        version=version,
        updated_at=recorded if updated_at == recorded_at else shown(updated_at),
        recorded_at=recorded,
        expires_at=shown(expires_at) if expires_at else None,
        superseded_by=superseded_by,
        duplicate_of=duplicate_of,
    )


def shown(value: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ` of a time in UTC without offset."""
    return value.isoformat(timespec="microseconds") + "Z"


def space_state(row: tuple[Any, ...]) -> SpaceState:
    """The state from the columns of `parts/state.sql`."""
    return SpaceState(row[0], row[1], row[2], row[3])


def index_row(row: tuple[Any, ...]) -> IndexRow:
    """A row of the resident index from the columns of `parts/indexed.sql`."""
    return IndexRow(*row)
