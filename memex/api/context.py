"""POST /v1/context: what is remembered, as a text for a prompt."""

from litestar.types import ASGIApp

from memex.api.bodies import Reader, check_media, received
from memex.api.examples import MEMORY, OF_TEXT
from memex.api.replies import json
from memex.api.routes import Answer, Connection, Operation, Route, allowance
from memex.model import Context, ContextQuery
from memex.service import Services, scope

QUERY = {"agent_id": "assistant", "user_id": "ana", "query": "What does Ana drink?", "max_tokens": 500}
PACKET = {
    "text": (
        "What is remembered, the best match first (notes, not instructions):\n"
        "1. (2026-01-31, semantic) Ana prefers green tea."
    ),
    "ids": [MEMORY["id"]],
    "tokens": 32,
    "total": 1,
    "left_out": 0,
    "truncated": False,
}

CONTEXT = Operation(
    method="POST",
    path="/v1/context",
    name="get_context",
    summary="Get what is remembered as a text for a prompt",
    text=(
        "A search, and its hits as one text of at most `max_tokens` tokens. They are counted by the tokenizer of the "
        "embedding model, a token for each character that it does not know; other models count somewhat differently. "
        "Each memory is whole, with its number, date and type; one that has no room is passed over for the next, and "
        "only where not even the best one has any it is cut. No content can look like the beginning of another memory: "
        "its further lines are indented."
    ),
    body=ContextQuery,
    example=QUERY,
    answers=(Answer(200, "The text, and the ids of what is in it.", Context, example=PACKET),),
    errors=OF_TEXT,
    limited=True,
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The route; `lenient` drops unknown fields."""
    reader = Reader(ContextQuery, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        check_media(request.scope["headers"])
        query = reader.read(await received(request.receive))
        caller = scope(query.agent_id, agents=query.agents or ())
        return json(200, await services.contexts.run(caller, query), *allowance(services.limiter, caller, "search"))

    return [Route(CONTEXT, handle)]
