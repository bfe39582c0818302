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
    """Whose memory it is; only this agent finds it."""
    user_id: Id
    """Whom it is about. Every search is about one user."""
    content: Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT)]
    """The text that is found and given back. None of it is cut."""
    importance: Annotated[float, Meta(ge=0.0, le=2.0)] = 1.0
    """Neutral is 1.0; below it a hit scores a little less, above it a little more (see `importance_weight`)."""
    memory_type: MemoryType = MemoryType.EPISODIC
    """What kind of thing was learned; searches can ask for one kind."""
    created_at: When | None = None
    """When it happened: its age counts from here. Left out: now."""
    timestamp: When | None = None
    """Another name for `created_at`; both only if they say the same."""  # a surface moves it, so below it is None
    tags: Annotated[list[Tag], Meta(max_length=MAX_TAGS)] = []
    """Labels of your own, given back; repeated ones are stored once."""
    metadata: dict[str, Any] = {}
    """Any JSON object, at most 16 KiB and 32 levels, given back; ranking does not read it."""
    session_id: Id | None = None
    """The conversation that it is from, given back."""
    source: Id | None = None
    """Where it is from, given back."""
    external_id: Id | None = None
    """Your own id, unique per agent and user. Met again, nothing is stored and the first memory comes back."""
    expires_at: When | None = None
    """From then on it is not found or counted. In the future; excludes `ttl_seconds`. Left out: never."""
    ttl_seconds: Annotated[int, Meta(gt=0, le=3_153_600_000)] | None = None
    """Seconds from the write until it expires; excludes `expires_at`."""
    visibility: Visibility = Visibility.PRIVATE
    """Only `private` can be stored yet."""
    on_duplicate: Literal["keep"] = "keep"
    """What to do with a text that the agent has already: it is kept as well. Nothing else yet."""


class Explanation(msgspec.Struct, frozen=True, gc=False):
    """The parts of one hit's score, as the formula names them. `cosine` is null where no vector was compared."""

    cosine: float | None
    """Of the question and the best chunk of the memory, -1 to 1; null in mode `keyword`."""
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
    """Who may read it: `private` is its own agent alone."""
    state: str = "active"
    """`active`: only such memories are found and counted."""
    version: int = 1
    """Counts the changes of this memory, from 1."""
    updated_at: Timestamp
    """When it was last changed."""
    recorded_at: Timestamp
    """When it was stored."""
    expires_at: Timestamp | None = None
    """From then on it is not found or counted; null is never."""
    superseded_by: str | None = None
    """Id of the memory that took its place, null for none."""
    duplicate_of: str | None = None
    """Id of the first memory of the same text, agent and user, if there was one when this was stored."""
    duplicates: int | UnsetType = UNSET
    """Only in a search: further copies of this text that were folded into this hit."""
    explain: Explanation | UnsetType = UNSET
    """Only in a search with `explain`: the parts of the score."""


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that every hit meets. An empty list is refused: it can only be a mistake."""

    types: Annotated[list[MemoryType], Meta(min_length=1)] | None = None
    """Memories of one of these kinds. Left out: of all."""
    created_after: When | None = None
    """Memories that happened at this time or later."""
    created_before: When | None = None
    """Memories that happened before this time."""


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller looks for. Null and left out mean the configured default."""

    agent_id: Id
    """Whose memories are searched."""
    user_id: Id
    """Whom they are about."""
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)]
    """A question or some words, in any language."""
    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] | None = None
    """The most hits to return. Left out: the configured number, 10 unless changed."""
    alpha: Unit | None = None
    """Weight of relevance; the rest is that of recency. Left out: the configured one, 0.7 unless changed."""
    memory_type: MemoryType | None = None
    """Only memories of this kind. Left out: of all."""
    mode: Mode = Mode.HYBRID
    """What makes relevance. `keyword` also returns memories without a common word, whose score is recency alone."""
    half_life_days: Annotated[float, Meta(gt=0.0, le=MAX_HALF_LIFE_DAYS)] | None = None
    """Age in days at which recency is ½. Left out: the configured one, 30 unless changed."""
    importance_weight: Unit | None = None
    """How much importance counts. Left out: the configured weight, 0.1 unless changed."""
    min_score: float | None = None
    """The least score of a hit, before rounding. `alpha` 1 keeps recency out of it. Left out: no bound."""
    filters: Filters | None = None
    """Conditions that every hit meets."""
    explain: bool = False
    """Whether each hit shows the parts of its score."""
    collapse: bool = True
    """Whether copies of one text are one hit, the best of them, with the number of the others in `duplicates`."""


class SearchResult(msgspec.Struct, frozen=True):
    """The exact top k, best first."""

    results: list[Memory]
    """The best first; of equal scores the newer."""
    query: str
    """The text that was searched for."""
    total: int
    """The number of results here, not of all memories that would match."""


class Count(msgspec.Struct, frozen=True):
    """How many live memories an agent holds of a user."""

    agent_id: str
    """Whose memories were counted."""
    user_id: str
    """Whom they are about."""
    count: int
    """Memories that are neither deleted nor expired; copies of one text count each."""


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
