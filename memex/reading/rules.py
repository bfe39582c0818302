"""Rules that span fields of one request, and what of a struct is made uniform before the service sees it."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from memex.model import Filters, NewMemory, SearchQuery
from memex.reading.conditions import is_sound
from memex.reading.faults import Faults, Loc
from memex.reading.objects import check_leaves, check_size
from memex.reading.times import in_utc

Rule = Callable[[Any, Loc, Faults], Any]


def memory(new: NewMemory, loc: Loc, faults: Faults) -> NewMemory:
    """Times in UTC and under one name, tags without repetition, metadata storable."""
    changes: dict[str, Any] = {}
    if new.created_at is not None or new.timestamp is not None:
        changes |= {"created_at": happened(new, loc, faults), "timestamp": None}
    if new.expires_at is not None:
        changes["expires_at"] = expiry(new, loc, faults)
    if new.tags:
        changes["tags"] = list(dict.fromkeys(new.tags))
    if new.metadata:
        check_leaves(new.metadata, (*loc, "metadata"), faults)
        if not faults.problems:
            check_size(new.metadata, (*loc, "metadata"), faults)
    return msgspec.structs.replace(new, **changes) if changes else new


def happened(new: NewMemory, loc: Loc, faults: Faults) -> datetime | None:
    """`created_at` or `timestamp`; both only if they are the same instant."""
    created = universal(new.created_at, (*loc, "created_at"), faults)
    stamp = universal(new.timestamp, (*loc, "timestamp"), faults)
    if created and stamp and created != stamp:
        faults.breach((*loc, "timestamp"), "created_at and timestamp are one thing: give one")
    return created or stamp


def expiry(new: NewMemory, loc: Loc, faults: Faults) -> datetime | None:
    """`expires_at`, which must lie ahead and excludes `ttl_seconds`: a memory that is never found is a mistake."""
    expires = universal(new.expires_at, (*loc, "expires_at"), faults)
    if expires and expires <= datetime.now(UTC):
        faults.breach((*loc, "expires_at"), "expires_at should be in the future")
    if new.ttl_seconds is not None:
        faults.breach((*loc, "ttl_seconds"), "give expires_at or ttl_seconds, not both")
    return expires


def search(query: SearchQuery, loc: Loc, faults: Faults) -> SearchQuery:
    """Times in UTC, and conditions that something can meet."""
    if query.as_of is not None:
        query = msgspec.structs.replace(query, as_of=past(query.as_of, (*loc, "as_of"), faults))
    if isinstance(query.agents, list):
        refuse_blank(query.agents, (*loc, "agents"), faults)
    filters = query.filters
    if filters is None:
        return query
    if query.memory_type and filters.types and query.memory_type not in filters.types:
        faults.breach((*loc, "memory_type"), "memory_type should be one of filters.types")
    marks(filters, (*loc, "filters"), faults)
    return msgspec.structs.replace(query, filters=window(filters, (*loc, "filters"), faults))


def marks(filters: Filters, loc: Loc, faults: Faults) -> None:
    """What the decoder lets pass and the walker names: blank texts, conditions without end."""
    for name in ("tags_any", "tags_all"):
        refuse_blank(getattr(filters, name) or (), (*loc, name), faults)
    for name in ("session_id", "source"):
        refuse_blank([getattr(filters, name) or "-"], (*loc, name), faults)
    if filters.metadata is not None and not is_sound(filters.metadata):
        faults.breach((*loc, "metadata"), "conditions should be few and finite")


def refuse_blank(texts: Iterable[str], loc: Loc, faults: Faults) -> None:
    """No name is only white space."""
    if any(text.isspace() for text in texts):
        faults.breach(loc, "text must not be blank")


def past(value: datetime, loc: Loc, faults: Faults) -> datetime | None:
    """A time that has been: of what will be known nothing is known."""
    moment = universal(value, loc, faults)
    if moment and moment > datetime.now(UTC):
        faults.breach(loc, f"{loc[-1]} should not be in the future")
    return moment


def window(filters: Filters, loc: Loc, faults: Faults) -> Filters:
    """An empty window is refused as an empty list is: it can only be a mistake."""
    after = universal(filters.created_after, (*loc, "created_after"), faults)
    before = universal(filters.created_before, (*loc, "created_before"), faults)
    if after and before and after >= before:
        faults.breach((*loc, "created_before"), "created_before should be after created_after")
    return msgspec.structs.replace(filters, created_after=after, created_before=before)


def universal(value: datetime | None, loc: Loc, faults: Faults) -> datetime | None:
    """In UTC, None where it is none or falls outside of the years 1 to 9999 there."""
    if value is None:
        return None
    try:
        return in_utc(value)
    except ValueError:
        faults.breach(loc, "a time should lie in the years 1 to 9999 in UTC")
        return None


RULES: dict[type[Any], Rule] = {NewMemory: memory, SearchQuery: search}
