"""PATCH /v1/memories/{memory_id}, and its archive and restore."""

from collections.abc import Awaitable, Callable

import msgspec
from litestar.types import ASGIApp

from memex.api.addresses import PATH, OwnedBy, identity
from memex.api.bodies import Reader, check_media, received
from memex.api.etags import MATCH, TAGGED, etag, wanted
from memex.api.examples import MEMORY, OF_TEXT, OWNED
from memex.api.keys import KEYED, REPLAYED, key_of, told
from memex.api.queries import Query
from memex.api.replies import Reply, json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.errors import (
    IdempotencyConflict,
    Invalid,
    NotFound,
    RateLimited,
    StoreFault,
    StoreUnavailable,
    VersionConflict,
)
from memex.model import Memory, MemoryChange, Scope, Target
from memex.reading.faults import Faults
from memex.service import Changed, Services, scope

CHANGED = MEMORY | {"importance": 1.5, "version": 2, "updated_at": "2026-02-01T08:30:00.000000Z"}
ARCHIVED = MEMORY | {"state": "archived", "version": 2, "updated_at": "2026-02-01T08:30:00.000000Z"}

CHANGE = Operation(
    method="PATCH",
    path="/v1/memories/{memory_id}",
    name="change_memory",
    summary="Change a memory",
    text=(
        "Durable, and seen by every later search, when this answers. What it was stays in its history. A change that "
        "changes nothing makes no new version. An archived memory can be changed too."
    ),
    path_parameters=PATH,
    query=OwnedBy,
    headers=MATCH | KEYED,
    body=MemoryChange,
    example={"importance": 1.5},
    arguments=OWNED,
    answers=(Answer(200, "What the memory is now.", Memory, example=CHANGED, headers=TAGGED | REPLAYED),),
    errors=(NotFound, VersionConflict, IdempotencyConflict, *OF_TEXT),
    limited=True,
)
ARCHIVE = Operation(
    method="POST",
    path="/v1/memories/{memory_id}/archive",
    name="archive_memory",
    summary="Archive a memory",
    text="It is not counted, and found only with `include_archived`, until it is restored. Again it changes nothing.",
    path_parameters=PATH,
    query=OwnedBy,
    headers=MATCH | KEYED,
    arguments=OWNED,
    answers=(Answer(200, "The memory.", Memory, example=ARCHIVED, headers=TAGGED | REPLAYED),),
    errors=(NotFound, VersionConflict, IdempotencyConflict, Invalid, RateLimited, StoreUnavailable, StoreFault),
    limited=True,
)
RESTORE = msgspec.structs.replace(
    ARCHIVE,
    path="/v1/memories/{memory_id}/restore",
    name="restore_memory",
    summary="Restore an archived memory",
    text="It is found and counted again. Restoring it again changes nothing.",
    answers=(
        Answer(
            200,
            "The memory.",
            Memory,
            example=CHANGED | {"importance": 1.2, "version": 3},
            headers=TAGGED | REPLAYED,
        ),
    ),
)

Move = Callable[[Scope, Target, str | None], Awaitable[Changed]]


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes that change one memory; `lenient` drops unknown fields."""
    return [
        change(services, lenient),
        move(ARCHIVE, services.memories.archive, services, lenient),
        move(RESTORE, services.memories.restore, services, lenient),
    ]


def change(services: Services, lenient: bool) -> Route:
    """PATCH /v1/memories/{memory_id}."""
    reader, query = Reader(MemoryChange, lenient=lenient), Query(OwnedBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        faults = Faults()
        caller, target, key = addressed(request, query, faults)
        wish = reader.collect(await received(request.receive), faults)
        if faults.problems:
            raise Invalid(faults.problems)
        return shown(services, caller, await services.memories.change(caller, target, wish, key))

    return Route(CHANGE, handle)


def move(operation: Operation, act: Move, services: Services, lenient: bool) -> Route:
    """POST …/archive and …/restore; a body is not looked at."""
    query = Query(OwnedBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        caller, target, key = addressed(request, query, faults)
        if faults.problems:
            raise Invalid(faults.problems)
        return shown(services, caller, await act(caller, target, key))

    return Route(operation, handle)


def addressed(request: Connection, query: Query[OwnedBy], faults: Faults) -> tuple[Scope, Target, str | None]:
    """Who changes what, in which version and by which key; good only if no fault was added."""
    memory_id = identity(request, faults)
    owner = query.collect(request.scope["query_string"], faults)
    versions = wanted(request.scope["headers"], faults)
    key = key_of(request.scope["headers"], faults)
    return scope(owner.agent_id), Target(memory_id, owner.user_id, versions), key


def shown(services: Services, caller: Scope, changed: Changed) -> Reply:
    """A changed memory."""
    headers = [etag(changed.memory), *told(changed.replayed), *allowance(services.limiter, caller, "write")]
    return json(200, changed.memory, *headers)
