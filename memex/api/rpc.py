"""/mcp: the MCP surface as one route, so that its bodies are received, limited and counted as all others are."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from litestar.types import ASGIApp

from memex.api.bodies import check_media, received
from memex.api.replies import JSON, Header, Reply
from memex.api.routes import Answer, Connection, Operation, Route
from memex.errors import BodyTooLarge, UnsupportedMedia

Exchange = Callable[[Iterable[Header], bytes], Awaitable[tuple[int, bytes]]]
"""From the headers and body of a request to the status and JSON body of its answer."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON-RPC message of the Model Context Protocol."""

    jsonrpc: str = "2.0"
    """Always 2.0."""
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    """Given back in the answer; a notification has none."""
    method: str
    """What is asked, such as `initialize`, `tools/list` or `tools/call`."""
    params: dict[str, Any] = {}
    """As the method has them."""


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

MCP = Operation(
    method="POST",
    path="/mcp",
    name="mcp",
    summary="The tools for agents, by the Model Context Protocol",
    text=(
        "Streamable HTTP without sessions, answered in JSON: any request may reach any process, and an "
        "`Mcp-Session-Id` is ignored. Errors of tools are results with `isError`; `MCP-Protocol-Version` names the "
        "revision."
    ),
    tag="mcp",
    body=Message,
    example=PING,
    answers=(
        Answer(200, "The JSON-RPC answer.", dict, example={"jsonrpc": "2.0", "id": 1, "result": {}}),
        Answer(202, "A notification was taken."),
        Answer(400, "A JSON-RPC error: the message or its revision is not understood.", dict),
        Answer(404, "A JSON-RPC error: the current revision has no such method.", dict),
    ),
    errors=(BodyTooLarge, UnsupportedMedia),
)


def routes(answer: Exchange) -> list[Route]:
    """The one route; what is said on it is `answer`'s."""

    async def handle(request: Connection) -> ASGIApp:
        headers = request.scope["headers"]
        check_media(headers)
        status, body = await answer(headers, await received(request.receive))
        return Reply(status, body, JSON) if body else Reply(status)

    return [Route(MCP, handle)]
