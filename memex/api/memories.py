"""/v1/memories: store, delete, count."""

import msgspec
from litestar.types import ASGIApp

from memex.api.addresses import PATH, OwnedBy, located
from memex.api.bodies import Reader, check_media, received
from memex.api.etags import MATCH, TAGGED, etag, wanted
from memex.api.examples import MEMORY, NEW, OF_TEXT, OWNED
from memex.api.keys import KEYED, REPLAYED, key_of, told
from memex.api.queries import Query
from memex.api.replies import Reply, json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.errors import IdempotencyConflict, Invalid, NotFound, StoreFault, StoreUnavailable, VersionConflict
from memex.model import Count, Id, Memory, NewMemory, Target
from memex.reading.faults import Faults
from memex.service import Services, scope


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
        "memory; when it has expired or is deleted, the id is free. So does a text that the agent has of the user, if "
        "`on_duplicate` is `return`. 404 only for a key whose memory was deleted since."
    ),
    headers=KEYED,
    body=NewMemory,
    example=NEW,
    answers=(
        Answer(201, "Stored.", Memory, example=MEMORY, headers=TAGGED | REPLAYED),
        Answer(200, "It was there; nothing changed.", Memory, example=MEMORY, headers=TAGGED | REPLAYED),
    ),
    errors=(NotFound, IdempotencyConflict, *OF_TEXT),
    limited=True,
)
DELETE = Operation(
    method="DELETE",
    path="/v1/memories/{memory_id}",
    name="delete_memory",
    summary="Delete a memory",
    text="Its history goes with it: no trace of its text is left.",
    path_parameters=PATH,
    query=OwnedBy,
    headers=MATCH | KEYED,
    arguments=OWNED,
    answers=(Answer(204, "Deleted.", headers=REPLAYED),),
    errors=(NotFound, VersionConflict, IdempotencyConflict, Invalid, StoreUnavailable, StoreFault),
)
COUNT = Operation(
    method="GET",
    path="/v1/memories/count",
    name="count_memories",
    summary="Count the memories that an agent holds of a user",
    query=Holding,
    arguments={"agent_id": "assistant", "user_id": "ana"},
    answers=(Answer(200, "The count.", Count, example={"agent_id": "assistant", "user_id": "ana", "count": 1}),),
    errors=(Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes of this resource; `lenient` drops unknown fields."""
    return [store(services, lenient), delete(services, lenient), count(services, lenient)]


def store(services: Services, lenient: bool, operation: Operation = STORE, form: type[NewMemory] = NewMemory) -> Route:
    """POST /v1/memories, or another route that takes new memories in another form."""
    reader = Reader(form, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        faults = Faults()
        key = key_of(request.scope["headers"], faults)
        new = reader.collect(await received(request.receive), faults)
        if faults.problems:
            raise Invalid(faults.problems)
        caller = scope(new.agent_id)
        written = await services.memories.add(caller, new, key)
        headers = [etag(written.memory), *told(written.replayed), *allowance(services.limiter, caller, "write")]
        return json(201 if written.created else 200, written.memory, *headers)

    return Route(operation, handle)


def delete(services: Services, lenient: bool) -> Route:
    """DELETE /v1/memories/{memory_id}."""
    query = Query(OwnedBy, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        key = key_of(request.scope["headers"], faults)
        versions = wanted(request.scope["headers"], faults)
        memory_id, owner = located(request, query, faults)
        target = Target(memory_id, owner.user_id, versions)
        replayed = await services.memories.delete(scope(owner.agent_id), target, key)
        return Reply(204, b"", *told(replayed))

    return Route(DELETE, handle)


def count(services: Services, lenient: bool) -> Route:
    """GET /v1/memories/count."""
    query = Query(Holding, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        holding = query.read(request.scope["query_string"])
        return json(200, await services.memories.count(scope(holding.agent_id), holding.user_id))

    return Route(COUNT, handle)
