"""The short form of storing, listing and searching, for scripts that know no users."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from memex.model.fields import MAX_QUERY, MAX_TOP_K, Id
from memex.model.listings import MAX_PAGE
from memex.model.memories import NewMemory

DEFAULT_USER = "default"
IMPORTANCES = {"low": 0.5, "medium": 1.0, "high": 1.5}
"""What the words of `metadata.importance` stand for."""


class Note(NewMemory, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a script asks to be stored; `metadata.importance` may be `low`, `medium` or `high`."""

    user_id: Id = DEFAULT_USER
    """Whom it is about."""


class NotesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose newest memories are listed."""

    agent_id: Id
    """Whose memories they are."""
    user_id: Id = DEFAULT_USER
    """Whom they are about."""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 20
    """The most memories to list."""


class NotesSearch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for."""

    agent_id: Id
    """Who searches: its own memories are."""
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)]
    """A question or some words, in any language."""
    user_id: Id = DEFAULT_USER
    """Whom they are about."""
    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] | None = None
    """The most hits to return. Left out: the configured number, 10 unless changed."""


class NoteOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory is deleted."""

    agent_id: Id | None = None
    """Whose memory it must be. Left out: anyone's, while everybody who reaches the port is trusted."""
    user_id: Id | None = None
    """Whom it must be about; enforced when given."""


class Deleted(msgspec.Struct, frozen=True):
    """What was deleted."""

    id: UUID
    """Of the memory."""
    deleted: bool = True
    """Always true."""
