"""Rules that span fields of one request, and what of a struct is made uniform before the service sees it."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from memex.model import (
    IMPORTANCES,
    ContextQuery,
    Filters,
    ListQuery,
    MemoryChange,
    NewMemory,
    Note,
    Question,
    RemovalQuery,
    SearchQuery,
    StatsQuery,
)
from memex.reading.conditions import is_sound
from memex.reading.faults import Faults, Loc
from memex.reading.objects import check_leaves, check_size
from memex.reading.times import in_utc

Windowed = TypeVar("Windowed", Filters, ListQuery, RemovalQuery)
Asked = TypeVar("Asked", bound=Question)
Rule = Callable[[Any, Loc, Faults], Any]

NEUTRAL = 1.0
NOTHING = MemoryChange()
EITHER = "give expires_at or ttl_seconds, not both"


def memory(new: NewMemory, loc: Loc, faults: Faults) -> NewMemory:
    """Times in UTC and under one name, tags without repetition, metadata storable."""
    changes = uniform(new, loc, faults)
    if new.created_at is not None or new.timestamp is not None:
        changes |= {"created_at": happened(new, loc, faults), "timestamp": None}
    return msgspec.structs.replace(new, **changes) if changes else new


def note(new: Note, loc: Loc, faults: Faults) -> NewMemory:
    """As the new memory that it is; a word for its importance in the metadata counts where no number is given."""
    word = new.metadata.get("importance")
    fields = msgspec.structs.asdict(new)
    if new.importance == NEUTRAL and isinstance(word, str) and word in IMPORTANCES:
        fields["importance"] = IMPORTANCES[word]
    return memory(NewMemory(**fields), loc, faults)


def change(wanted: MemoryChange, loc: Loc, faults: Faults) -> MemoryChange:
    """As a new memory, and something to change."""
    if wanted == NOTHING and not faults.problems:
        faults.breach(loc, "name at least one field to change")
    if wanted.embedding is not UNSET and wanted.content is UNSET:
        faults.breach((*loc, "embedding"), "an embedding goes with its content: give both")
    if wanted.expires_at is None and wanted.ttl_seconds is not UNSET:
        faults.breach((*loc, "ttl_seconds"), EITHER)
    changes = uniform(wanted, loc, faults)
    return msgspec.structs.replace(wanted, **changes) if changes else wanted


def uniform(given: NewMemory | MemoryChange, loc: Loc, faults: Faults) -> dict[str, Any]:
    """What new and changed memories have in common, as far as it has to be made so."""
    changes: dict[str, Any] = {}
    if given.expires_at:
        changes["expires_at"] = expiry(given, given.expires_at, loc, faults)
    if given.tags:
        changes["tags"] = list(dict.fromkeys(given.tags))
    if given.metadata:
        check_leaves(given.metadata, (*loc, "metadata"), faults)
        if not faults.problems:
            check_size(given.metadata, (*loc, "metadata"), faults)
    return changes


def happened(new: NewMemory, loc: Loc, faults: Faults) -> datetime | None:
    """`created_at` or `timestamp`; both only if they are the same instant."""
    created = universal(new.created_at, (*loc, "created_at"), faults)
    stamp = universal(new.timestamp, (*loc, "timestamp"), faults)
    if created and stamp and created != stamp:
        faults.breach((*loc, "timestamp"), "created_at and timestamp are one thing: give one")
    return created or stamp


def expiry(given: NewMemory | MemoryChange, at: datetime, loc: Loc, faults: Faults) -> datetime | None:
    """`expires_at`, which must lie ahead and excludes `ttl_seconds`: a memory that is never found is a mistake."""
    expires = universal(at, (*loc, "expires_at"), faults)
    if expires and expires <= datetime.now(UTC):
        faults.breach((*loc, "expires_at"), "expires_at should be in the future")
    if given.ttl_seconds is not UNSET and (given.ttl_seconds is not None or isinstance(given, MemoryChange)):
        faults.breach((*loc, "ttl_seconds"), EITHER)
    return expires


def search(query: Asked, loc: Loc, faults: Faults) -> Asked:
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


def removal(query: RemovalQuery, loc: Loc, faults: Faults) -> RemovalQuery:
    """Some condition, so that a slip does not delete everything, and only one end of the time."""
    conditions = {name: None for name in query.__struct_fields__ if name not in ("agent_id", "dry_run")}
    if not faults.problems and query == msgspec.structs.replace(query, **conditions):
        faults.breach(loc, "name at least one condition beside agent_id")
    for name in ("tags_any", "tags_all"):
        refuse_blank(getattr(query, name) or (), (*loc, name), faults)
    if query.created_before is not None and query.older_than_days is not None:
        faults.breach((*loc, "older_than_days"), "give created_before or older_than_days, not both")
    return window(query, loc, faults)


def figures(query: StatsQuery, loc: Loc, faults: Faults) -> StatsQuery:
    """An agent and a user, or neither: half of a scope would be a guess."""
    named = query.agent_id or query.user_id or query.agents
    for name in ("agent_id", "user_id"):
        if named and getattr(query, name) is None:
            faults.add("missing", (*loc, name), "Field required", None)
    return query


def past(value: datetime, loc: Loc, faults: Faults) -> datetime | None:
    """A time that has been: of what will be known nothing is known."""
    moment = universal(value, loc, faults)
    if moment and moment > datetime.now(UTC):
        faults.breach(loc, f"{loc[-1]} should not be in the future")
    return moment


def window(filters: Windowed, loc: Loc, faults: Faults) -> Windowed:
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


RULES: dict[type[Any], Rule] = {
    NewMemory: memory,
    Note: note,
    MemoryChange: change,
    SearchQuery: search,
    ContextQuery: search,
    ListQuery: window,
    RemovalQuery: removal,
    StatsQuery: figures,
}
