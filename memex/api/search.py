"""/v1/memories/search."""

from litestar.types import ASGIApp

from memex.api.bodies import Reader, check_media, received
from memex.api.examples import MEMORY, OF_TEXT
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.model import SearchQuery, SearchResult
from memex.service import Services, scope

QUERY = {"agent_id": "assistant", "user_id": "ana", "query": "What does Ana drink?", "top_k": 5, "alpha": 0.7}
FOUND = {"results": [MEMORY | {"score": 0.8731, "duplicates": 0}], "query": QUERY["query"], "total": 1}

SEARCH = Operation(
    method="POST",
    path="/v1/memories/search",
    name="search_memories",
    summary="Search the memories about a user",
    text=(
        "The exact top k of all memories that pass the filters, by "
        "`(alpha · relevance + (1 − alpha) · recency) · (1 + importance_weight · (importance − 1))`. Searched are the "
        "agent's own memories and, with `agents`, what those share about the user."
    ),
    body=SearchQuery,
    example=QUERY,
    answers=(Answer(200, "The best first; `total` is their number.", SearchResult, example=FOUND),),
    errors=OF_TEXT,
    limited=True,
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The routes of this resource; `lenient` drops unknown fields."""
    reader = Reader(SearchQuery, lenient=lenient)

    async def search(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        query = reader.read(await received(request.receive))
        caller = scope(query.agent_id, agents=query.agents or ())
        result = await services.search.run(caller, query)
        return json(200, result, *allowance(services.limiter, caller, "search"))

    return [Route(SEARCH, search)]
