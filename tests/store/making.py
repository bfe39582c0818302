"""Memories to store, of four dimensions: enough to be told apart."""

import itertools
import os
import struct
import time
from typing import Any
from uuid import UUID

from memex.model import MemoryType, Scope, Space, Visibility, content_hash
from memex.store.composites import Text, Write
from memex.store.models import StoredModel

MODEL = StoredModel("test-model", "r1", 4)
SPACE = Space("default", "ana")
SCOPE = Scope("default", "agent")
ORDER = itertools.count()


def new_id() -> UUID:
    """A UUIDv7, above all that were made before, also in the same millisecond."""
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    tail = bytearray((0x7000 | next(ORDER) & 0x0FFF).to_bytes(2, "big") + os.urandom(8))
    tail[2] = 0x80 | tail[2] & 0x3F
    return UUID(bytes=stamp + bytes(tail))


def vector(*values: float) -> bytes:
    """Little-endian f16."""
    return struct.pack(f"<{len(values)}e", *values)


def a_write(content: str = "The harbour opens at six.", **changed: Any) -> Write:
    """A valid write, but for what a test changes."""
    fields: dict[str, Any] = {
        "space": SPACE,
        "id": new_id(),
        "agent_id": "agent",
        "importance": 1.0,
        "memory_type": MemoryType.EPISODIC,
        "visibility": Visibility.PRIVATE,
        "tags": [],
        "metadata": {},
        "session_id": None,
        "source": None,
        "external_id": None,
        "created_at": None,
        "expires_at": None,
        "ttl_seconds": None,
    }
    of_text = {name: changed.pop(name) for name in Text.__struct_fields__ if name in changed}
    return Write(text=a_text(content, **of_text), **fields | changed)


def a_text(content: str, **changed: Any) -> Text:
    """A text with a vector of its own, but for what a test changes."""
    fields: dict[str, Any] = {
        "content": content,
        "content_hash": content_hash(content),
        "terms": [-7, 11],
        "term_counts": [1, 2],
        "terms_version": 1,
        "model_id": MODEL.id,
        "vectors": [vector(*(byte / 256 for byte in os.urandom(4)))],
    }
    return Text(**fields | changed)
