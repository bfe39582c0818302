"""What the documentation shows, and the failures that many routes share."""

from typing import Any

from memex.errors import (
    BodyTooLarge,
    EncoderFailed,
    Invalid,
    MemexError,
    RateLimited,
    StoreFault,
    StoreUnavailable,
    Unavailable,
    UnsupportedMedia,
)

MEMORY: dict[str, Any] = {
    "id": "019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a",
    "agent_id": "assistant",
    "user_id": "ana",
    "content": "Ana prefers green tea.",
    "importance": 1.2,
    "memory_type": "semantic",
    "created_at": "2026-01-31T12:00:00.000000Z",
    "score": None,
    "tags": ["drinks"],
    "metadata": {},
    "session_id": None,
    "source": None,
    "external_id": None,
    "visibility": "private",
    "state": "active",
    "version": 1,
    "updated_at": "2026-01-31T12:00:00.000000Z",
    "recorded_at": "2026-01-31T12:00:00.000000Z",
    "expires_at": None,
    "superseded_by": None,
    "duplicate_of": None,
}
NEW: dict[str, Any] = {
    name: MEMORY[name] for name in ("agent_id", "user_id", "content", "importance", "memory_type", "tags")
}
OWNED: dict[str, Any] = {"memory_id": MEMORY["id"], "agent_id": MEMORY["agent_id"]}
# What may go wrong where a body is read and its text is embedded.
OF_TEXT: tuple[type[MemexError], ...] = (
    BodyTooLarge,
    UnsupportedMedia,
    Invalid,
    RateLimited,
    StoreUnavailable,
    EncoderFailed,
    Unavailable,
    StoreFault,
)
