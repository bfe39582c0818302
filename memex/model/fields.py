"""What fields of many structs share: lengths, kinds and times."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

MAX_CONTENT = 8_000
MAX_QUERY = 2_000
MAX_ID = 128
MAX_TOP_K = 50
MAX_HALF_LIFE_DAYS = 36_500.0
MAX_TAGS = 32
MAX_TAG = 64
MAX_METADATA_BYTES = 16 * 1024
MAX_DIMENSIONS = 4_096
MAX_TTL_SECONDS = 3_153_600_000
MAX_VERSION = 2**31 - 1
MAX_VERSIONS = 1_000

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Tag = Annotated[str, Meta(min_length=1, max_length=MAX_TAG)]
Content = Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT)]
Importance = Annotated[float, Meta(ge=0.0, le=2.0)]
Tags = Annotated[list[Tag], Meta(max_length=MAX_TAGS)]
Seconds = Annotated[int, Meta(gt=0, le=MAX_TTL_SECONDS)]
Embedding = Annotated[list[float], Meta(min_length=1, max_length=MAX_DIMENSIONS)]
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


class State(StrEnum):
    """Where a memory is in its life."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"


class Mode(StrEnum):
    """Which arms make the relevance of a hit."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
