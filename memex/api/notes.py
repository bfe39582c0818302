"""/api/memories: the short form, for scripts that know no users and read bare lists."""

from typing import Any

from litestar.types import ASGIApp

from memex.api import health, memories
from memex.api.addresses import PATH, located
from memex.api.etags import MATCH, TAGGED, wanted
from memex.api.examples import MEMORY, OF_TEXT
from memex.api.keys import KEYED, REPLAYED, key_of, told
from memex.api.queries import Query
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.errors import (
    EncoderFailed,
    IdempotencyConflict,
    Invalid,
    NotFound,
    RateLimited,
    StoreFault,
    StoreUnavailable,
    Unavailable,
    VersionConflict,
)
from memex.model import Deleted, ListQuery, Memory, Note, NoteOwner, NotesQuery, NotesSearch, SearchQuery, Target
from memex.reading.faults import Faults
from memex.service import Services, scope

NOTE: dict[str, Any] = MEMORY | {"user_id": "default"}
NEW = {
    "agent_id": "assistant",
    "content": MEMORY["content"],
    "timestamp": 1_769_860_800,
    "metadata": {"source": "conversation", "importance": "high"},
}

STORE = Operation(
    method="POST",
    path="/api/memories",
    name="store_note",
    summary="Store a memory, in short",
    text="As `POST /v1/memories`; the user is `default` unless one is named.",
    headers=KEYED,
    body=Note,
    example=NEW,
    answers=(
        Answer(201, "Stored.", Memory, example=NOTE, headers=TAGGED | REPLAYED),
        Answer(200, "It was there; nothing changed.", Memory, example=NOTE, headers=TAGGED | REPLAYED),
    ),
    errors=(NotFound, IdempotencyConflict, *OF_TEXT),
    limited=True,
)
LIST = Operation(
    method="GET",
    path="/api/memories",
    name="list_notes",
    summary="List the newest memories, in short",
    query=NotesQuery,
    arguments={"agent_id": "assistant"},
    answers=(Answer(200, "The newest first.", list[Memory], example=[NOTE]),),
    errors=(Invalid, StoreUnavailable, StoreFault),
)
SEARCH = Operation(
    method="GET",
    path="/api/memories/search",
    name="search_notes",
    summary="Search memories, in short",
    query=NotesSearch,
    arguments={"agent_id": "assistant", "query": "What does she drink?", "top_k": "5"},
    answers=(Answer(200, "The best first.", list[Memory], example=[NOTE | {"score": 0.8731, "duplicates": 0}]),),
    errors=(Invalid, RateLimited, StoreUnavailable, EncoderFailed, Unavailable, StoreFault),
    limited=True,
)
DELETE = Operation(
    method="DELETE",
    path="/api/memories/{memory_id}",
    name="delete_note",
    summary="Delete a memory, in short",
    text="Its history goes with it. Without `agent_id` it may be any agent's.",
    path_parameters=PATH,
    query=NoteOwner,
    headers=MATCH | KEYED,
    arguments={"memory_id": MEMORY["id"]},
    answers=(Answer(200, "Deleted.", Deleted, example={"id": MEMORY["id"], "deleted": True}, headers=REPLAYED),),
    errors=(NotFound, VersionConflict, IdempotencyConflict, Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes of this resource; `lenient` drops unknown fields."""
    return [
        memories.store(services, lenient, STORE, Note),
        listing(services, lenient),
        search(services, lenient),
        delete(services, lenient),
        health.report(services, "/api/health", "health_note"),
    ]


def listing(services: Services, lenient: bool) -> Route:
    """GET /api/memories."""
    query = Query(NotesQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        asked = query.read(request.scope["query_string"])
        whole = ListQuery(agent_id=asked.agent_id, user_id=asked.user_id, limit=asked.limit)
        return json(200, (await services.listings.page(scope(asked.agent_id), whole)).memories)

    return Route(LIST, handle)


def search(services: Services, lenient: bool) -> Route:
    """GET /api/memories/search."""
    query = Query(NotesSearch, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        asked = query.read(request.scope["query_string"])
        caller = scope(asked.agent_id)
        whole = SearchQuery(agent_id=asked.agent_id, user_id=asked.user_id, query=asked.query, top_k=asked.top_k)
        found = await services.search.run(caller, whole)
        return json(200, found.results, *allowance(services.limiter, caller, "search"))

    return Route(SEARCH, handle)


def delete(services: Services, lenient: bool) -> Route:
    """DELETE /api/memories/{memory_id}."""
    query = Query(NoteOwner, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        key = key_of(request.scope["headers"], faults)
        versions = wanted(request.scope["headers"], faults)
        memory_id, owner = located(request, query, faults)
        target = Target(memory_id, owner.user_id, versions)
        if owner.agent_id is None:
            replayed = await services.memories.delete_anyones(target, key)
        else:
            replayed = await services.memories.delete(scope(owner.agent_id), target, key)
        return json(200, Deleted(memory_id), *told(replayed))

    return Route(DELETE, handle)
