"""GET /v1/memories: the memories of an agent about a user, page by page."""

from litestar.types import ASGIApp

from memex.api.examples import MEMORY
from memex.api.queries import Query
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import Invalid, StoreFault, StoreUnavailable
from memex.model import Listing, ListQuery
from memex.service import Services, scope

PAGE = {"memories": [MEMORY], "total": 1, "next_cursor": None}

LIST = Operation(
    method="GET",
    path="/v1/memories",
    name="list_memories",
    summary="List the memories about a user",
    text=(
        "The newest first, by `created_at`. Pages follow `next_cursor`: what is there all the time is listed exactly "
        "once, whatever is stored, changed or deleted meanwhile. Listed are the agent's own memories and, with "
        "`agents`, what those share about the user."
    ),
    query=ListQuery,
    arguments={"agent_id": "assistant", "user_id": "ana"},
    answers=(Answer(200, "One page; `total` is of the whole list.", Listing, example=PAGE),),
    errors=(Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes of this resource; `lenient` drops unknown parameters."""
    query = Query(ListQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        asked = query.read(request.scope["query_string"])
        return json(200, await services.listings.page(scope(asked.agent_id, agents=asked.agents or ()), asked))

    return [Route(LIST, handle)]
