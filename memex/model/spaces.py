"""Spaces, who may read in them, and the rows by which they are ranked."""

import hashlib

import msgspec


class Scope(msgspec.Struct, frozen=True):
    """Who asks and what they may read; made once at the door, taken by every statement and by the native mask."""

    tenant_id: str
    agent_id: str
    """The caller: all of its own memories, and they alone may be changed."""
    others: tuple[str, ...] | None = ()
    """Of these agents what they share; None is every agent of the space."""


class Space(msgspec.Struct, frozen=True):
    """One (tenant, user): the unit of residency, versioning and distribution."""

    tenant_id: str
    user_id: str

    @property
    def key(self) -> int:
        """First 8 bytes of SHA-256(tenant, 0, user) as a signed 64-bit integer."""
        digest = hashlib.sha256(f"{self.tenant_id}\0{self.user_id}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


class SpaceState(msgspec.Struct, frozen=True):
    """What a resident index is checked against: valid only for this epoch, between floor and version."""

    epoch: int
    version: int
    floor_version: int
    model_id: str

    def stands_for(self, other: "SpaceState") -> bool:
        """Whether nothing that ranking reads changed between the two."""
        return (self.epoch, self.version, self.model_id) == (other.epoch, other.version, other.model_id)


class IndexRow(msgspec.Struct, frozen=True, gc=False):
    """One memory as the resident index holds it: everything that ranking reads, and no text."""

    id: bytes
    """UUID, 16 bytes big-endian."""
    agent_id: str
    memory_type: str
    visibility: str
    state: str
    tags: list[str]
    session_id: str | None
    source: str | None
    content_hash: bytes
    importance: float
    created_at: int
    """Microseconds since 1970 in UTC, negative before."""
    expires_at: int | None
    """Microseconds since 1970 in UTC."""
    terms: list[int]
    """Distinct term ids, signed 32-bit, ascending."""
    term_counts: list[int]
    vectors: list[bytes]
    """One per chunk, each little-endian f16."""
