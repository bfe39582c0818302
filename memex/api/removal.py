"""POST /v1/memories/delete: all memories of an agent that meet conditions."""

from litestar.types import ASGIApp

from memex.api.bodies import Reader, check_media, received
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import BodyTooLarge, Invalid, StoreFault, StoreUnavailable, UnsupportedMedia
from memex.model import Removal, RemovalQuery
from memex.service import Services, scope

REMOVE = Operation(
    method="POST",
    path="/v1/memories/delete",
    name="delete_memories",
    summary="Delete all memories that meet conditions",
    text=(
        "Every one of them with its history, however many there are; what is stored meanwhile stays. It goes part by "
        "part: where it fails, some may be deleted already, and asking again deletes the others. A request without any "
        "condition is refused."
    ),
    body=RemovalQuery,
    example={"agent_id": "assistant", "user_id": "ana", "older_than_days": 90, "dry_run": True},
    answers=(Answer(200, "How many.", Removal, example={"deleted": 3, "dry_run": True}),),
    errors=(BodyTooLarge, UnsupportedMedia, Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The route; `lenient` drops unknown fields."""
    reader = Reader(RemovalQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        query = reader.read(await received(request.receive))
        return json(200, await services.removals.run(scope(query.agent_id), query))

    return [Route(REMOVE, handle)]
