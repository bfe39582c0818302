"""Lists of memories: what is asked for, and one page of it."""

from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from memex.model.fields import Id, MemoryType, When
from memex.model.memories import Memory
from memex.model.searches import Agents, Tags

MAX_PAGE = 100
MAX_CURSOR = 128


class ListQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories are listed. Lists are given by repeating the parameter."""

    agent_id: Id
    """Who lists: all of its own memories are."""
    user_id: Id
    """Whom they are about."""
    session_id: Id | None = None
    """Memories of this conversation."""
    source: Id | None = None
    """Memories from this source."""
    types: Annotated[list[MemoryType], Meta(min_length=1)] | None = None
    """Memories of one of these kinds."""
    tags_any: Tags | None = None
    """Memories with at least one of these tags; a tag is compared as a whole, code point by code point."""
    tags_all: Tags | None = None
    """Memories with each of these tags."""
    created_after: When | None = None
    """Memories that happened at this time or later."""
    created_before: When | None = None
    """Memories that happened before this time."""
    agents: Agents | Literal["*"] | None = None
    """Other agents whose shared memories about the user are listed too; `*` alone is every agent."""
    include_archived: bool = False
    """Whether archived memories are listed too."""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 20
    """The most memories of one page."""
    cursor: Annotated[str, Meta(min_length=1, max_length=MAX_CURSOR)] | None = None
    """`next_cursor` of the page before, with the same conditions. Left out: the first page."""


class Position(NamedTuple):
    """A place in the order of a list: by time, then by id, both descending."""

    created_at: int
    """Microseconds since 1970."""
    id: bytes
    """16 bytes."""


class Listing(msgspec.Struct, frozen=True):
    """One page of a list, the newest first by when it happened."""

    memories: list[Memory]
    """At most `limit`."""
    total: int
    """How many memories the whole list has at this moment."""
    next_cursor: str | None
    """For the page after this one; null where this is the last."""
