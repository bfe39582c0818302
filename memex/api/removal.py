"""POST /v1/memories/delete: all memories of an agent that meet conditions."""

from litestar.types import ASGIApp

from memex.api.bodies import Reader, check_media, received
from memex.api.keys import KEYED, REPLAYED, key_of, told
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import (
    BodyTooLarge,
    IdempotencyConflict,
    Invalid,
    StoreFault,
    StoreUnavailable,
    UnsupportedMedia,
)
from memex.model import Removal, RemovalQuery
from memex.reading.faults import Faults
from memex.service import Services, scope

REMOVE = Operation(
    method="POST",
    path="/v1/memories/delete",
    name="delete_memories",
    summary="Delete all memories that meet conditions",
    text=(
        "Every one of them with its history, however many there are; what is stored meanwhile stays. It goes part by "
        "part: where it fails, some may be deleted already, and asking again deletes the others. With a key the answer "
        "counts those of both, and what was stored after the first request stays; a `dry_run` uses up no key. A "
        "request without any condition is refused."
    ),
    headers=KEYED,
    body=RemovalQuery,
    example={"agent_id": "assistant", "user_id": "ana", "older_than_days": 90, "dry_run": True},
    answers=(Answer(200, "How many.", Removal, example={"deleted": 3, "dry_run": True}, headers=REPLAYED),),
    errors=(BodyTooLarge, UnsupportedMedia, IdempotencyConflict, Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The route; `lenient` drops unknown fields."""
    reader = Reader(RemovalQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        faults = Faults()
        key = key_of(request.scope["headers"], faults)
        query = reader.collect(await received(request.receive), faults)
        if faults.problems:
            raise Invalid(faults.problems)
        removed = await services.removals.run(scope(query.agent_id), query, key)
        return json(200, removed.result, *told(removed.replayed))

    return [Route(REMOVE, handle)]
