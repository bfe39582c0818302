"""Which memory a route is about: an id in the path, and in the query whose it is."""

from typing import Any
from uuid import UUID

import msgspec

from memex.api.routes import Connection
from memex.model import Id
from memex.reading.faults import Faults
from memex.reading.fields import Identity

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


def identity(request: Connection, faults: Faults) -> UUID:
    """The id in the path; good only if no fault was added."""
    read: UUID = Identity().read(request.path_params["memory_id"], ("path", "memory_id"), faults)
    return read
