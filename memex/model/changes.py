"""Changes of memories, and what they were before."""

from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from memex.model.fields import Content, Embedding, Importance, Seconds, Tags, Visibility, When
from memex.model.memories import Memory


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a memory shall become: at least one field. What is left out stays as it is."""

    content: Content | UnsetType = UNSET
    """Another text, which is found from then on; the former one only in the history."""
    importance: Importance | UnsetType = UNSET
    """Neutral is 1.0."""
    tags: Tags | UnsetType = UNSET
    """All labels anew; an empty list takes them off."""
    metadata: dict[str, Any] | UnsetType = UNSET
    """The whole object anew, at most 16 KiB and 32 levels."""
    expires_at: When | UnsetType | None = UNSET
    """From then on it is not found or counted; null is never. In the future; excludes `ttl_seconds`."""
    ttl_seconds: Seconds | UnsetType | None = UNSET
    """Seconds from the change until it expires; null is never. Excludes `expires_at`."""
    visibility: Visibility | UnsetType = UNSET
    """Who may find it: `private` is its own agent alone, `shared` every agent of the user that asks for it."""
    embedding: Embedding | UnsetType = UNSET
    """A vector of the current model for the whole of `content`, which must be there too; it is then not embedded."""


class Target(msgspec.Struct, frozen=True):
    """Which memory is to be changed."""

    memory_id: UUID
    user_id: str | None = None
    """Whom it must be about; None is anyone."""
    versions: tuple[int, ...] | None = None
    """Of which one it must have; None is any."""


class History(msgspec.Struct, frozen=True):
    """What a memory is and was."""

    memory_id: str
    """Of the memory."""
    versions: list[Memory]
    """The newest first, the current one among them; `updated_at` is when each began."""
    total: int
    """How many versions there are, also beyond those that are listed."""
