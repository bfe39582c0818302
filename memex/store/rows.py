"""Rows of PostgreSQL as values of `memex.model`."""

from datetime import datetime
from typing import Any

from memex.model import IndexRow, Memory, SpaceState

STATE_COLUMNS = 5


def memory(user_id: str, row: tuple[Any, ...], at: int = 0) -> Memory:
    """A memory from the columns of `parts/shown.sql` and its links, which start at `at`."""
    (
        id_, agent_id, content, importance, memory_type, created_at, tags, metadata, session_id, source, external_id,
        visibility, state, version, updated_at, recorded_at, expires_at, superseded_by, duplicate_of,
    ) = row[at:]  # fmt: skip
    recorded = shown(recorded_at)
    return Memory(
        id=id_,
        agent_id=agent_id,
        user_id=user_id,
        content=content,
        importance=importance,
        memory_type=memory_type,
        created_at=recorded if created_at == recorded_at else shown(created_at),
        tags=tags,
        metadata=metadata,
        session_id=session_id,
        source=source,
        external_id=external_id,
        visibility=visibility,
        state=state,
        version=version,
        updated_at=recorded if updated_at == recorded_at else shown(updated_at),
        recorded_at=recorded,
        expires_at=shown(expires_at) if expires_at else None,
        superseded_by=superseded_by,
        duplicate_of=duplicate_of,
    )


def shown(value: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ` of a time in UTC without offset."""
    return value.isoformat(timespec="microseconds") + "Z"


def space_state(row: tuple[Any, ...]) -> SpaceState:
    """The state from the columns of `parts/state.sql`."""
    return SpaceState(row[0], row[1], row[2], row[3])


def index_row(row: tuple[Any, ...]) -> IndexRow:
    """A row of the resident index from the columns of `parts/indexed.sql`."""
    return IndexRow(*row)
