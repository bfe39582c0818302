"""/v1/memories: store, delete, count."""

import uuid
from typing import Any

import msgspec
from litestar.types import ASGIApp

from memex.api.bodies import Reader, check_media, received
from memex.api.queries import Query
from memex.api.replies import Reply, json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.errors import (
    BodyTooLarge,
    EncoderFailed,
    Invalid,
    MemexError,
    NotFound,
    RateLimited,
    StoreFault,
    StoreUnavailable,
    Unavailable,
    UnsupportedMedia,
)
from memex.model import Count, Id, Memory, NewMemory
from memex.reading.faults import Faults
from memex.reading.fields import Identity
from memex.service import Services, scope

MEMORY: dict[str, Any] = {
    "id": "019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a",
    "agent_id": "assistant",
    "user_id": "ana",
    "content": "Ana prefers green tea.",
    "importance": 1.2,
    "memory_type": "semantic",
    "created_at": "2026-01-31T12:00:00.000000Z",
    "score": None,
    "tags": ["drinks"],
    "metadata": {},
    "session_id": None,
    "source": None,
    "external_id": None,
    "visibility": "private",
    "state": "active",
    "version": 1,
    "updated_at": "2026-01-31T12:00:00.000000Z",
    "recorded_at": "2026-01-31T12:00:00.000000Z",
    "expires_at": None,
    "superseded_by": None,
    "duplicate_of": None,
}
NEW: dict[str, Any] = {
    name: MEMORY[name] for name in ("agent_id", "user_id", "content", "importance", "memory_type", "tags")
}
# What may go wrong where a body is read and its text is embedded.
OF_TEXT: tuple[type[MemexError], ...] = (
    BodyTooLarge,
    UnsupportedMedia,
    Invalid,
    RateLimited,
    StoreUnavailable,
    EncoderFailed,
    Unavailable,
    StoreFault,
)


class OwnedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory is deleted."""

    agent_id: Id
    """Whose memory it is: of any other agent it is not found."""
    user_id: Id | None = None
    """Whom it is about; enforced when given."""


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memories are counted."""

    agent_id: Id
    """Whose memories are counted."""
    user_id: Id
    """Whom they are about."""


STORE = Operation(
    method="POST",
    path="/v1/memories",
    name="store_memory",
    summary="Store a memory",
    text=(
        "Durable when this answers. An `external_id` that a memory has stores nothing and answers 200 with that "
        "memory; when it has expired or is deleted, the id is free."
    ),
    body=NewMemory,
    example=NEW,
    answers=(
        Answer(201, "Stored.", Memory, example=MEMORY),
        Answer(200, "A memory has this external_id; nothing changed.", Memory, example=MEMORY),
    ),
    errors=OF_TEXT,
    limited=True,
)
DELETE = Operation(
    method="DELETE",
    path="/v1/memories/{memory_id}",
    name="delete_memory",
    summary="Delete a memory",
    path_parameters={"memory_id": {"type": "string", "format": "uuid", "description": "Id of the memory."}},
    query=OwnedBy,
    example={name: MEMORY[alias] for name, alias in (("memory_id", "id"), ("agent_id", "agent_id"))},
    answers=(Answer(204, "Deleted."),),
    errors=(NotFound, Invalid, StoreUnavailable, StoreFault),
)
COUNT = Operation(
    method="GET",
    path="/v1/memories/count",
    name="count_memories",
    summary="Count the memories that an agent holds of a user",
    query=Holding,
    example={"agent_id": "assistant", "user_id": "ana"},
    answers=(Answer(200, "The count.", Count, example={"agent_id": "assistant", "user_id": "ana", "count": 1}),),
    errors=(Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes of this resource; `lenient` drops unknown fields."""
    return [store(services, lenient), delete(services, lenient), count(services, lenient)]


def store(services: Services, lenient: bool) -> Route:
    """POST /v1/memories."""
    reader = Reader(NewMemory, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        new = reader.read(await received(request.receive))
        caller = scope(new.agent_id)
        written = await services.memories.add(caller, new)
        status = 201 if written.created else 200
        return json(status, written.memory, *allowance(services.limiter, caller, "write"))

    return Route(STORE, handle)


def delete(services: Services, lenient: bool) -> Route:
    """DELETE /v1/memories/{memory_id}."""
    query = Query(OwnedBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        memory_id: uuid.UUID = Identity().read(request.path_params["memory_id"], ("path", "memory_id"), faults)
        owner = query.collect(request.scope["query_string"], faults)
        if faults.problems:
            raise Invalid(faults.problems)
        await services.memories.delete(scope(owner.agent_id), memory_id, owner.user_id)
        return Reply(204)

    return Route(DELETE, handle)


def count(services: Services, lenient: bool) -> Route:
    """GET /v1/memories/count."""
    query = Query(Holding, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        holding = query.read(request.scope["query_string"])
        return json(200, await services.memories.count(scope(holding.agent_id), holding.user_id))

    return Route(COUNT, handle)
