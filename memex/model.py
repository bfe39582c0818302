"""What memex speaks of: memories, searches, spaces and scopes. Plain values, no behaviour of I/O."""

import hashlib
import unicodedata
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_CONTENT = 8_000
MAX_QUERY = 2_000
MAX_ID = 128
MAX_TOP_K = 50
MAX_HALF_LIFE_DAYS = 36_500.0
MAX_TAGS = 32
MAX_TAG = 64
MAX_METADATA_BYTES = 16 * 1024

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Tag = Annotated[str, Meta(min_length=1, max_length=MAX_TAG)]
Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
# ISO 8601 in UTC, always with microseconds and Z, as the reference's clients parse it.
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# A time that a caller gives; aware and in UTC once a surface has read it.
When = Annotated[
    datetime,
    Meta(
        description="ISO 8601 (without offset: UTC; date alone: midnight), epoch seconds, or milliseconds above 2e10.",
        extra_json_schema={"x-types": ["string", "number"]},
    ),
]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 of an aware time, exact; negative before."""
    return (moment - EPOCH) // MICROSECOND


class MemoryType(StrEnum):
    """What kind of thing was learned."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Visibility(StrEnum):
    """Who of the same tenant and user may read a memory."""

    PRIVATE = "private"
    SHARED = "shared"


class Mode(StrEnum):
    """Which arms make the relevance of a hit."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class Scope(msgspec.Struct, frozen=True):
    """Who asks and what they may read; made once at the door, taken by every statement and by the native mask."""

    tenant_id: str
    agent_id: str
    readable: tuple[str, ...]
    """The agents whose memories may be read, the caller first."""


class Space(msgspec.Struct, frozen=True):
    """One (tenant, user): the unit of residency, versioning and distribution."""

    tenant_id: str
    user_id: str

    @property
    def key(self) -> int:
        """First 8 bytes of SHA-256(tenant, 0, user) as a signed 64-bit integer."""
        digest = hashlib.sha256(f"{self.tenant_id}\0{self.user_id}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


def content_hash(content: str) -> bytes:
    """SHA-256 of the NFC form, 32 bytes: equal hashes are the same text."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).encode()).digest()


class NewMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller asks to be stored."""

    agent_id: Id
    user_id: Id
    content: Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT)]
    importance: Annotated[float, Meta(ge=0.0, le=2.0)] = 1.0
    memory_type: MemoryType = MemoryType.EPISODIC
    created_at: When | None = None
    timestamp: When | None = None
    """Another name for `created_at`; a surface moves it there, so below it is always None."""
    tags: Annotated[list[Tag], Meta(max_length=MAX_TAGS)] = []
    metadata: dict[str, Any] = {}
    session_id: Id | None = None
    source: Id | None = None
    external_id: Id | None = None
    expires_at: When | None = None
    ttl_seconds: Annotated[int, Meta(gt=0, le=3_153_600_000)] | None = None
    visibility: Visibility = Visibility.PRIVATE
    on_duplicate: Literal["keep"] = "keep"


class Explanation(msgspec.Struct, frozen=True, gc=False):
    """The parts of one hit's score, as the formula names them. `cosine` is null where no vector was compared."""

    cosine: float | None
    lexical: float
    relevance: float
    recency: float
    importance: float
    final: float


class Memory(msgspec.Struct, kw_only=True, gc=False):
    """A stored memory. The first eight fields, in this order, are what clients of the reference read."""

    id: str
    agent_id: str
    user_id: str
    content: str
    importance: float
    memory_type: str
    created_at: Timestamp
    score: float | None = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    session_id: str | None = None
    source: str | None = None
    external_id: str | None = None
    visibility: str = "private"
    state: str = "active"
    version: int = 1
    updated_at: Timestamp
    recorded_at: Timestamp
    expires_at: Timestamp | None = None
    superseded_by: str | None = None
    duplicate_of: str | None = None
    duplicates: int | UnsetType = UNSET
    explain: Explanation | UnsetType = UNSET


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that every hit meets. An empty list is refused: it can only be a mistake."""

    types: Annotated[list[MemoryType], Meta(min_length=1)] | None = None
    created_after: When | None = None
    """Inclusive."""
    created_before: When | None = None
    """Exclusive."""


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller looks for. Null and left out mean the configured default."""

    agent_id: Id
    user_id: Id
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)]
    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] | None = None
    alpha: Unit | None = None
    memory_type: MemoryType | None = None
    mode: Mode = Mode.HYBRID
    half_life_days: Annotated[float, Meta(gt=0.0, le=MAX_HALF_LIFE_DAYS)] | None = None
    importance_weight: Unit | None = None
    min_score: float | None = None
    filters: Filters | None = None
    explain: bool = False
    collapse: bool = True


class SearchResult(msgspec.Struct, frozen=True):
    """The exact top k, best first."""

    results: list[Memory]
    query: str
    total: int


class Count(msgspec.Struct, frozen=True):
    """How many live memories an agent holds of a user."""

    agent_id: str
    user_id: str
    count: int


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
