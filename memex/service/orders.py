"""What the store is asked for, made from what a caller asks for."""

from typing import TypeVar

from msgspec import UNSET, UnsetType

from memex.model import MemoryChange, NewMemory, Scope, Space
from memex.service.ids import uuid7
from memex.store import Expiry, RequestKey, Text, Write

T = TypeVar("T")


def addition(scope: Scope, new: NewMemory, text: Text, key: RequestKey | None) -> Write:
    """The row of a new memory."""
    return Write(
        space=Space(scope.tenant_id, new.user_id),
        id=uuid7(),
        agent_id=scope.agent_id,
        text=text,
        importance=new.importance,
        memory_type=new.memory_type,
        visibility=new.visibility,
        tags=new.tags,
        metadata=new.metadata,
        session_id=new.session_id,
        source=new.source,
        external_id=new.external_id,
        created_at=new.created_at,
        expires_at=new.expires_at,
        ttl_seconds=new.ttl_seconds,
        once=new.on_duplicate == "return",
        key=key,
    )


def expiry(wanted: MemoryChange) -> Expiry | None:
    """None where neither field is named."""
    if wanted.expires_at is UNSET and wanted.ttl_seconds is UNSET:
        return None
    return Expiry(at=named(wanted.expires_at), seconds=named(wanted.ttl_seconds))


def named(value: T | UnsetType) -> T | None:
    """None for what is left out."""
    return None if value is UNSET else value
