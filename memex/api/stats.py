"""GET /v1/stats: counts for agents, and figures of the process for operators."""

from litestar.types import ASGIApp

from memex.api.queries import Query
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import Invalid, StoreFault, StoreUnavailable
from memex.model import Stats, StatsQuery
from memex.service import Services, scope

NONE = {"episodic": 0, "semantic": 0, "procedural": 0}
COUNTED = {
    "version": "0.1.0",
    "model": {"id": "e5-small-v2@ebba420a79ee9bfc", "dimensions": 384, "window": 512, "engine": "native"},
    "memories": {
        "agent_id": "assistant",
        "user_id": "ana",
        "total": 3,
        "active": NONE | {"episodic": 1, "semantic": 1},
        "archived": NONE | {"episodic": 1},
        "superseded": NONE,
    },
    "process": None,
}

STATS = Operation(
    method="GET",
    path="/v1/stats",
    name="stats",
    summary="Count the memories about a user by state and type, or see how the process is doing",
    text=(
        "With `agent_id` and `user_id`: the agent's own memories and, with `agents`, what those share about the user, "
        "exactly and of one moment. Without: index, cache and queue of the process that answers, which hold no id and "
        "no text; with several workers each has its own, and /metrics is of all."
    ),
    query=StatsQuery,
    arguments={"agent_id": "assistant", "user_id": "ana"},
    answers=(Answer(200, "Counts, or figures of the process.", Stats, example=COUNTED),),
    errors=(Invalid, StoreUnavailable, StoreFault),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The route; `lenient` drops unknown parameters."""
    query = Query(StatsQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        asked = query.read(request.scope["query_string"])
        caller = None if asked.agent_id is None else scope(asked.agent_id, agents=asked.agents or ())
        return json(200, await services.statistics.run(caller, asked))

    return [Route(STATS, handle)]
