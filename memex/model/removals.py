"""Deleting many memories at once."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from memex.model.fields import MAX_HALF_LIFE_DAYS, Content, Id, MemoryType, When
from memex.model.searches import Tags

MAX_REMOVED_IDS = 1_000


class RemovalQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories of an agent are deleted: those that meet all conditions, of which there must be one at least."""

    agent_id: Id
    """Whose memories are deleted. Alone it is no condition."""
    user_id: Id | None = None
    """Those about this user; alone it is all of them. Left out: about any user."""
    session_id: Id | None = None
    """Those of this conversation."""
    source: Id | None = None
    """Those from this source."""
    types: Annotated[list[MemoryType], Meta(min_length=1)] | None = None
    """Those of one of these kinds."""
    tags_any: Tags | None = None
    """Those with at least one of these tags, compared as a whole."""
    tags_all: Tags | None = None
    """Those with each of these tags."""
    created_after: When | None = None
    """Those that happened at this time or later."""
    created_before: When | None = None
    """Those that happened before this time. Excludes `older_than_days`."""
    older_than_days: Annotated[float, Meta(ge=0.0, le=MAX_HALF_LIFE_DAYS)] | None = None
    """Those that happened so many days ago, or earlier. Excludes `created_before`."""
    content: Content | None = None
    """Those of exactly this text; forms of Unicode that look the same are the same."""
    ids: Annotated[list[UUID], Meta(min_length=1, max_length=MAX_REMOVED_IDS)] | None = None
    """Those of these ids."""
    dry_run: bool = False
    """Whether they are only counted."""


class Removal(msgspec.Struct, frozen=True):
    """How many memories were deleted, or would be."""

    deleted: int
    """All that met the conditions when it began; archived and expired ones among them."""
    dry_run: bool
    """Whether they were only counted."""
