"""One memory by its id: whose it is, what it is, and what it was."""

from uuid import UUID

from memex.errors import NotFound
from memex.model import History, Memory, Scope
from memex.store import rows, wire
from memex.store.composites import RequestKey
from memex.store.connection import Connection
from memex.store.queries import load

LOCATE = load("locate")
HOLDER = load("holder")
DELETED = load("deleted")
MEMORY = load("memory")
HISTORY = load("history")


def seen_by(scope: Scope) -> tuple[wire.Wire, wire.Wire]:
    """The parameters $4 and $5 of `parts/visible.sql`."""
    return (wire.text(scope.agent_id), wire.texts(scope.others))


async def locate(connection: Connection, scope: Scope, memory_id: UUID) -> str:
    """The user whose memory it is. Raises NotFound where it is not one of the scope's own agent."""
    found = await connection.fetch(LOCATE, owned(scope, memory_id))
    if not found:
        raise NotFound
    return str(found[0][0])


async def holder(
    connection: Connection, tenant_id: str, memory_id: UUID, user_id: str | None, key: RequestKey | None
) -> str:
    """The agent whose memory it is, or was until a request with this key. Raises NotFound."""
    known = (wire.text(None if key is None else key.route), wire.text(None if key is None else key.key))
    parameters = (wire.uuid(memory_id.bytes), wire.text(tenant_id), wire.text(user_id), *known)
    found = await connection.fetch(HOLDER, parameters)
    if not found:
        raise NotFound
    return str(found[0][0])


async def held(connection: Connection, scope: Scope, memory_id: UUID, key: RequestKey | None) -> str:
    """As `locate`, also of a memory that a request with this key has deleted."""
    try:
        return await locate(connection, scope, memory_id)
    except NotFound:
        if key is None:
            raise
    parameters = (*owned(scope, memory_id), wire.text(key.route), wire.text(key.key))
    found = await connection.fetch(DELETED, parameters)
    if not found:
        raise NotFound
    return str(found[0][0])


def owned(scope: Scope, memory_id: UUID) -> tuple[wire.Wire, wire.Wire, wire.Wire]:
    """The parameters $1 to $3 of statements about a memory of the scope's own agent."""
    return (wire.uuid(memory_id.bytes), wire.text(scope.agent_id), wire.text(scope.tenant_id))


def sought(scope: Scope, memory_id: UUID, user_id: str | None) -> tuple[wire.Wire, ...]:
    """The parameters $1 to $5 of statements about one memory."""
    return (wire.uuid(memory_id.bytes), wire.text(scope.tenant_id), wire.text(user_id), *seen_by(scope))


async def memory(connection: Connection, scope: Scope, memory_id: UUID, user_id: str | None) -> Memory:
    """One memory. Raises NotFound."""
    found = await connection.fetch(MEMORY, sought(scope, memory_id, user_id))
    if not found:
        raise NotFound
    return rows.memory(found[0][0], found[0], 1)


async def history(
    connection: Connection, scope: Scope, memory_id: UUID, user_id: str | None, limit: int, below: int
) -> History:
    """The versions of one memory. Raises NotFound."""
    parameters = (*sought(scope, memory_id, user_id), wire.int8(limit), wire.int8(below))
    found = await connection.fetch(HISTORY, parameters)
    if not found:
        raise NotFound
    versions = [rows.memory(row[3], row, 4) for row in found if row[0] < below]
    return History(str(memory_id), versions[:limit], found[0][2])
