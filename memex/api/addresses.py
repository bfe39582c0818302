"""Which memory a route is about: an id in the path, and in the query whose it is."""

from typing import Any, TypeVar
from uuid import UUID

import msgspec

from memex.api.queries import Query
from memex.api.routes import Connection
from memex.errors import Invalid
from memex.model import Id
from memex.reading.faults import Faults
from memex.reading.fields import Identity

T = TypeVar("T")

PATH: dict[str, dict[str, Any]] = {
    "memory_id": {"type": "string", "format": "uuid", "description": "Id of the memory."}
}


class OwnedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory is deleted or changed."""

    agent_id: Id
    """Whose memory it is: of any other agent it is not found."""
    user_id: Id | None = None
    """Whom it is about; enforced when given."""


class ReadBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who reads a memory."""

    agent_id: Id
    """Who reads it: its own agent, or any other one of the user if it is shared."""
    user_id: Id | None = None
    """Whom it is about; enforced when given. Without it only memories of the agent's own are found."""


def located(request: Connection, query: Query[T], faults: Faults) -> tuple[UUID, T]:
    """The id and the query of a route, the last that it reads. Raises Invalid with every fault."""
    memory_id = identity(request, faults)
    asked = query.collect(request.scope["query_string"], faults)
    if faults.problems:
        raise Invalid(faults.problems)
    return memory_id, asked


def identity(request: Connection, faults: Faults) -> UUID:
    """The id in the path; good only if no fault was added."""
    read: UUID = Identity().read(request.path_params["memory_id"], ("path", "memory_id"), faults)
    return read
