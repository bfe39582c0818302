"""/v1/memories/{memory_id} and its history: what a memory is and was."""

from typing import Annotated

import msgspec
from litestar.types import ASGIApp
from msgspec import Meta

from memex.api.addresses import PATH, ReadBy, identity, located
from memex.api.etags import NONE_MATCH, TAGGED, etag, held
from memex.api.examples import MEMORY, OWNED
from memex.api.queries import Query
from memex.api.replies import Reply, json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import Invalid, NotFound, StoreFault, StoreUnavailable
from memex.model import MAX_VERSION, MAX_VERSIONS, History, Id, Memory
from memex.reading.faults import Faults
from memex.service import Services, reading

NOW = MEMORY | {"content": "Ana prefers black tea.", "version": 2, "updated_at": "2026-02-01T08:30:00.000000Z"}
PAST = {"memory_id": MEMORY["id"], "versions": [NOW, MEMORY], "total": 2}


class PagedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Who reads a history, and which part of it."""

    agent_id: Id
    """Who reads it: its own agent, or any other one of the user what is shared."""
    user_id: Id | None = None
    """Whom it is about; enforced when given. Without it only memories of the agent's own are found."""
    limit: Annotated[int, Meta(ge=1, le=MAX_VERSIONS)] = 100
    """The most versions to list."""
    before: Annotated[int, Meta(ge=1, le=MAX_VERSION)] = MAX_VERSION
    """Only versions below this one, for the next part of a long history. Left out: from the newest on."""


READ = Operation(
    method="GET",
    path="/v1/memories/{memory_id}",
    name="read_memory",
    summary="Read a memory",
    text="Also an archived one. Of another agent only what it shares, and with `user_id`.",
    path_parameters=PATH,
    query=ReadBy,
    headers=NONE_MATCH,
    arguments=OWNED,
    answers=(
        Answer(200, "The memory.", Memory, example=MEMORY, headers=TAGGED),
        Answer(304, "The caller has this version.", headers=TAGGED),
    ),
    errors=(NotFound, Invalid, StoreUnavailable, StoreFault),
)
HISTORY = Operation(
    method="GET",
    path="/v1/memories/{memory_id}/history",
    name="memory_history",
    summary="Read what a memory was",
    text="Each version began at its `updated_at`. Of another agent only versions that it shared, and with `user_id`.",
    path_parameters=PATH,
    query=PagedBy,
    arguments=OWNED,
    answers=(Answer(200, "The versions, the newest first.", History, example=PAST),),
    errors=(NotFound, Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes that show one memory; `lenient` drops unknown parameters."""
    return [read(services, lenient), history(services, lenient)]


def read(services: Services, lenient: bool) -> Route:
    """GET /v1/memories/{memory_id}."""
    query = Query(ReadBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        memory_id = identity(request, faults)
        reader = query.collect(request.scope["query_string"], faults)
        known = held(request.scope["headers"], faults)
        if faults.problems:
            raise Invalid(faults.problems)
        memory = await services.memories.read(reading(reader.agent_id, reader.user_id), memory_id, reader.user_id)
        return Reply(304, b"", etag(memory)) if memory.version in known else json(200, memory, etag(memory))

    return Route(READ, handle)


def history(services: Services, lenient: bool) -> Route:
    """GET /v1/memories/{memory_id}/history."""
    query = Query(PagedBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        memory_id, asked = located(request, query, faults)
        caller = reading(asked.agent_id, asked.user_id)
        return json(200, await services.memories.history(caller, memory_id, asked.user_id, asked.limit, asked.before))

    return Route(HISTORY, handle)
