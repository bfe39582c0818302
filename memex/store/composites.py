"""Memories and changes to be stored, in the binary form of the composite types that PostgreSQL takes them as."""

import struct
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from memex.model import Memory, MemoryType, Space, State, Visibility
from memex.store import wire
from memex.store.faults import DataRefused
from memex.store.wire import field

encode_json = msgspec.json.Encoder().encode
WRITE_FIELDS, CHANGE_FIELDS, KEY_FIELDS = 19, 18, 3
"""How many fields the composite types have."""


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A content and all that is made of it."""

    content: str
    content_hash: bytes
    terms: list[int]
    term_counts: list[int]
    terms_version: int
    model_id: str
    vectors: list[bytes]
    """One per chunk, little-endian f16."""
    ready: bool = False
    """Whether the caller gave the vector."""


class RequestKey(msgspec.Struct, frozen=True):
    """By which a request that is repeated is known again, for 24 hours and among those of its agent in its space."""

    route: str
    """What it asks for: the same key of another route is another one."""
    key: str
    """The caller's own, visible ASCII."""
    digest: bytes
    """SHA-256 of what was asked, 32 bytes: the same key for anything else is a mistake."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One memory to be stored, checked by the door and embedded."""

    space: Space
    id: UUID
    agent_id: str
    text: Text
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
    once: bool = False
    """Whether a text that the agent has is not stored again."""
    key: RequestKey | None = None


class Expiry(msgspec.Struct, frozen=True):
    """When a memory shall expire; never, where both are None."""

    at: datetime | None = None
    """Aware."""
    seconds: int | None = None
    """From now by the database's clock, where `at` is None."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What one memory shall become, checked by the door and embedded. None leaves as it is."""

    space: Space
    id: UUID
    agent_id: str
    model_id: str
    versions: tuple[int, ...] | None = None
    """Of which the memory must have one."""
    importance: float | None = None
    visibility: Visibility | None = None
    state: State | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    expiry: Expiry | None = None
    text: Text | None = None
    key: RequestKey | None = None


class Written(msgspec.Struct, frozen=True):
    """What a write led to. `created` is False where the memory was there before: by its external id, or its text."""

    memory: Memory
    created: bool
    replayed: bool = False
    """Whether this was the outcome of an earlier request with the same key, given again."""


class Changed(msgspec.Struct, frozen=True):
    """What a change led to."""

    memory: Memory
    replayed: bool = False
    """As of a write."""


class Deleted(msgspec.Struct, frozen=True):
    """What a deletion led to: how many were there."""

    count: int
    replayed: bool = False
    """As of a write."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """As `Written`, of a memory that nobody wants to see."""

    id: str
    created: bool
    replayed: bool = False


class Encoded(msgspec.Struct, frozen=True):
    """A composite value in binary form, but for its last field: only a connection knows the number of its type."""

    fields: bytes
    vectors: list[bytes] | None
    """The last field: elements of a halfvec[], None for null."""


def encode(given: Write | Change) -> Encoded:
    """The composite of a write or a change. Raises DataRefused for what has no binary form, as a lone surrogate."""
    text = given.text
    try:
        fields = write_fields(given) if isinstance(given, Write) else change_fields(given)
        vectors = None if text is None else [wire.halfvec_element(vector) for vector in text.vectors]
        return Encoded(b"".join(fields), vectors)
    except (ValueError, OverflowError, struct.error) as error:
        raise DataRefused from error


def write_fields(write: Write) -> tuple[bytes, ...]:
    """Every field of `memex.new_memory` but the last."""
    return (
        field(wire.UUID, write.id.bytes),
        text(write.agent_id),
        text(write.text.content),
        field(wire.BYTEA, write.text.content_hash),
        number(write.importance),
        text(write.memory_type),
        text(write.visibility),
        texts(write.tags),
        json(write.metadata),
        text(write.session_id),
        text(write.source),
        text(write.external_id),
        moment(write.created_at),
        moment(write.expires_at),
        seconds(write.ttl_seconds),
        *terms(write.text),
    )


def change_fields(change: Change) -> tuple[bytes, ...]:
    """Every field of `memex.memory_change` but the last."""
    expiry = change.expiry or Expiry()
    return (
        field(wire.UUID, change.id.bytes),
        text(change.agent_id),
        integers(change.versions),
        number(change.importance),
        text(change.visibility),
        text(change.state),
        texts(change.tags),
        json(change.metadata),
        truth(change.expiry is not None),
        moment(expiry.at),
        seconds(expiry.seconds),
        text(None if change.text is None else change.text.content),
        field(wire.BYTEA, None if change.text is None else change.text.content_hash),
        *terms(change.text),
        truth(change.text is not None and change.text.ready),
    )


def terms(given: Text | None) -> tuple[bytes, bytes, bytes]:
    """The three fields that the keyword arm reads."""
    if given is None:
        return (field(wire.INT4S, None), field(wire.INT2S, None), field(wire.INT2, None))
    return (
        integers(given.terms),
        field(wire.INT2S, wire.number_array(wire.INT2, "h", given.term_counts)),
        field(wire.INT2, wire.SMALLINT.pack(given.terms_version)),
    )


def text(value: str | None) -> bytes:
    """A text field."""
    return field(wire.TEXT, None if value is None else value.encode())


def texts(values: Sequence[str] | None) -> bytes:
    """A text[] field."""
    return field(wire.TEXTS, None if values is None else wire.text_array(values))


def integers(values: Sequence[int] | None) -> bytes:
    """An integer[] field."""
    return field(wire.INT4S, None if values is None else wire.number_array(wire.INT4, "i", values))


def number(value: float | None) -> bytes:
    """A double precision field."""
    return field(wire.FLOAT8, None if value is None else wire.DOUBLE.pack(value))


def seconds(value: int | None) -> bytes:
    """A bigint field."""
    return field(wire.INT8, None if value is None else wire.BIGINT.pack(value))


def truth(value: bool) -> bytes:
    """A boolean field."""
    return field(wire.BOOL, b"\x01" if value else b"\x00")


def json(value: dict[str, Any] | None) -> bytes:
    """A jsonb field."""
    return field(wire.JSONB, None if value is None else wire.JSON_VERSION + encode_json(value))


def moment(value: datetime | None) -> bytes:
    """A timestamptz field."""
    return field(wire.TIMESTAMPTZ, None if value is None else wire.timestamptz(value))


def new_memories(rows: Sequence[Encoded], oids: wire.Oids) -> wire.Wire:
    """The parameter `memex.new_memory[]` for one connection."""
    return wire.Wire(oids.new_memories, composites(rows, oids.new_memory, WRITE_FIELDS, oids))


def memory_changes(rows: Sequence[Encoded], oids: wire.Oids) -> wire.Wire:
    """The parameter `memex.memory_change[]` for one connection."""
    return wire.Wire(oids.memory_changes, composites(rows, oids.memory_change, CHANGE_FIELDS, oids))


def request_keys(keys: Sequence[RequestKey | None], oids: wire.Oids) -> wire.Wire:
    """The parameter `memex.request_key[]` for one connection; empty where there is no key."""
    head = wire.LENGTH.pack(KEY_FIELDS)
    given = keys if any(keys) else ()
    values = [wire.NULL if key is None else wire.sized(head + b"".join(key_fields(key))) for key in given]
    return wire.Wire(oids.request_keys, wire.array_of(oids.request_key, values))


def key_fields(key: RequestKey) -> tuple[bytes, ...]:
    """Every field of `memex.request_key`."""
    return (text(key.route), text(key.key), field(wire.BYTEA, key.digest))


def composites(rows: Sequence[Encoded], element: int, fields: int, oids: wire.Oids) -> bytes:
    """The binary form of an array of composite values that have `fields` fields each."""
    head = wire.LENGTH.pack(fields)
    values = [wire.sized(head + row.fields + field(oids.halfvecs, halfvecs(row.vectors, oids))) for row in rows]
    return wire.array_of(element, values)


def halfvecs(vectors: list[bytes] | None, oids: wire.Oids) -> bytes | None:
    """The binary form of a halfvec[]."""
    return None if vectors is None else wire.array_of(oids.halfvec, vectors)
