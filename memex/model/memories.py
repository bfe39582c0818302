"""Memories: as they are asked to be stored, and as they are shown."""

import hashlib
import unicodedata
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from memex.model.fields import (
    Content,
    Embedding,
    Id,
    Importance,
    MemoryType,
    Seconds,
    Tags,
    Timestamp,
    Visibility,
    When,
)


def content_hash(content: str) -> bytes:
    """SHA-256 of the NFC form, 32 bytes: equal hashes are the same text."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).encode()).digest()


class NewMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller asks to be stored."""

    agent_id: Id
    """Whose memory it is; only this agent finds it, unless it is shared."""
    user_id: Id
    """Whom it is about. Every search is about one user."""
    content: Content
    """The text that is found and given back. None of it is cut."""
    importance: Importance = 1.0
    """Neutral is 1.0; below it a hit scores a little less, above it a little more (see `importance_weight`)."""
    memory_type: MemoryType = MemoryType.EPISODIC
    """What kind of thing was learned; searches can ask for one kind."""
    created_at: When | None = None
    """When it happened: its age counts from here. Left out: now."""
    timestamp: When | None = None
    """Another name for `created_at`; both only if they say the same."""  # a surface moves it, so below it is None
    tags: Tags = []
    """Labels of your own, which searches can ask for; repeated ones are stored once."""
    metadata: dict[str, Any] = {}
    """Any JSON object, at most 16 KiB and 32 levels. Searches can have conditions on its top-level keys."""
    session_id: Id | None = None
    """The conversation that it is from; searches can ask for one."""
    source: Id | None = None
    """Where it is from; searches can ask for one source."""
    external_id: Id | None = None
    """Your own id, unique per agent and user. Met again, nothing is stored and the first memory comes back."""
    expires_at: When | None = None
    """From then on it is not found or counted. In the future; excludes `ttl_seconds`. Left out: never."""
    ttl_seconds: Seconds | None = None
    """Seconds from the write until it expires; excludes `expires_at`."""
    visibility: Visibility = Visibility.PRIVATE
    """Who may find it: `private` is its own agent alone, `shared` every agent of the user that asks for it."""
    on_duplicate: Literal["keep", "return"] = "keep"
    """`keep` stores a text that the agent has of the user already once more; `return` gives back the first instead."""
    embedding: Embedding | None = None
    """A vector of the current model, of any length but zero, for the whole content, which is then not embedded."""


class Explanation(msgspec.Struct, frozen=True, gc=False):
    """The parts of one hit's score, as the formula names them. `cosine` is null where no vector was compared."""

    cosine: float | None
    """Of the question and the best chunk of the memory, -1 to 1; null in mode `keyword`, and for marks alone."""
    lexical: float
    """BM25 of the common words as it is, from 0, without upper bound."""
    relevance: float
    """What the mode makes of the two, 0 to 1."""
    recency: float
    """Halves with every `half_life_days` of age: 1 is now or later."""
    importance: float
    """The factor `1 + importance_weight · (importance - 1)`, not the memory's own value."""
    final: float
    """The score before it is rounded."""


class Memory(msgspec.Struct, kw_only=True, gc=False):
    """A stored memory. The first eight fields, in this order, are what clients of the reference read."""

    id: str
    """UUID, given by the service."""
    agent_id: str
    """Whose memory it is."""
    user_id: str
    """Whom it is about."""
    content: str
    """The text as it was stored."""
    importance: float
    """From 0 to 2; 1.0 is neutral."""
    memory_type: str
    """`episodic`, `semantic` or `procedural`."""
    created_at: Timestamp
    """When it happened, which is when it was stored unless the writer said otherwise."""
    score: float | None = None
    """Of this search, rounded to 4 decimals; null where nothing was searched."""
    tags: list[str] = []
    """Labels of the writer."""
    metadata: dict[str, Any] = {}
    """The writer's own JSON object."""
    session_id: str | None = None
    """The conversation that it is from."""
    source: str | None = None
    """Where it is from."""
    external_id: str | None = None
    """The writer's own id, unique per agent and user."""
    visibility: str = "private"
    """Who may read it: `private` is its own agent alone, `shared` every agent of the user."""
    state: str = "active"
    """`active`, or `archived`: then it is not counted, and found only with `include_archived` or `as_of`."""
    version: int = 1
    """Counts the changes of this memory, from 1."""
    updated_at: Timestamp
    """When it was last changed."""
    recorded_at: Timestamp
    """When it was stored."""
    expires_at: Timestamp | None = None
    """From then on it is not found or counted; null is never."""
    superseded_by: str | None = None
    """Id of the memory that took its place, null for none. To its own agent alone."""
    duplicate_of: str | None = None
    """Id of the first memory of the same text, agent and user, if there is an earlier one. As above."""
    duplicates: int | UnsetType = UNSET
    """Only in a search: further copies of this text that were folded into this hit."""
    explain: Explanation | UnsetType = UNSET
    """Only in a search with `explain`: the parts of the score."""


class Count(msgspec.Struct, frozen=True):
    """How many live memories an agent holds of a user."""

    agent_id: str
    """Whose memories were counted."""
    user_id: str
    """Whom they are about."""
    count: int
    """Memories that are neither deleted nor expired; copies of one text count each."""
