"""The MCP server: the tools behind the SDK's kernel, and errors translated outward. A test holds the table complete."""

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from mcp import types
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from memex import __version__, errors, logs
from memex.errors import Invalid, MemexError, Problem
from memex.mcp import texts
from memex.mcp.arguments import ARGUMENTS
from memex.mcp.calls import Call, Told
from memex.mcp.tools import TOOLS, Tool
from memex.reading.faults import text as harmless

if TYPE_CHECKING:
    from memex.service import Services

log = logging.getLogger("memex.mcp")

Context = ServerRequestContext[Any, Any]

NAME = "memex"
INSTRUCTIONS = """\
memex is long-term memory that outlives a conversation.
Call search_memories at the start of a session and whenever earlier knowledge could help. Call store_memory when you \
learn something worth keeping: a fact, a preference, a decision, an outcome; one thing per call, in a sentence that \
stands by itself. Call update_memory when what you found is out of date. list_memories goes through all by time; \
get_context is a search as one text of bounded length.
agent_id says whose memory it is, user_id whom it is about: keep both the same, or nothing is found again.
memory_type: episodic for what happened, semantic for facts and preferences, procedural for how something is done.
importance (0 to 2, neutral 1): above 1 for what must be found first, below 1 for details.
alpha (0 to 1, default 0.7): the share of relevance in the ranking; the rest is recency."""
INTERNAL = "Internal error. The log has the details under this request id."
DAY = 24 * 60 * 60 * 1000


def message(error: MemexError) -> str:
    """Errors that say themselves what to do."""
    return error.message


def arguments(error: MemexError) -> str:
    """Every faulty argument."""
    return texts.faults(error.problems) if isinstance(error, Invalid) else error.message


def internal(error: MemexError) -> str:
    """A fault of memex, told to the log alone."""
    log.error("%s", error.code, exc_info=error)
    return INTERNAL


OUTWARD: dict[type[MemexError], Callable[[MemexError], str]] = {
    errors.MemexError: internal,
    errors.Invalid: arguments,
    errors.BodyTooLarge: message,
    errors.UnsupportedMedia: message,
    errors.HostRefused: message,
    errors.NotFound: message,
    errors.VersionConflict: message,
    errors.IdempotencyConflict: message,
    errors.RateLimited: message,
    errors.Unavailable: message,
    errors.Overloaded: message,
    errors.StoreUnavailable: message,
    errors.EncoderFailed: message,
    errors.StoreFault: internal,
    # These end the process before it serves; here they would be a fault of ours.
    errors.StartupError: internal,
    errors.SettingsInvalid: internal,
    errors.AddressRefused: internal,
    errors.PortTaken: internal,
    errors.HomeUnusable: internal,
    errors.DatabaseUnreachable: internal,
    errors.DatabaseUnsuitable: internal,
    errors.SchemaTooNew: internal,
    errors.ModelMissing: internal,
    errors.ModelDamaged: internal,
    errors.ModelMismatch: internal,
    errors.BackupUnusable: internal,
}


def create_server(services: "Callable[[], Awaitable[Services]]", *, lenient: bool) -> Server[Any]:
    """The server over `services`, which may become ready after it; `lenient` drops unknown arguments."""
    by_name = {tool.name: tool for tool in TOOLS}
    listed = types.ListToolsResult(tools=[described(tool) for tool in TOOLS])

    async def list_tools(_context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call_tool(_context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        if (tool := by_name.get(params.name)) is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {harmless(params.name)}")
        return result(await told(tool, Call(await services(), params.arguments or {}, lenient)))

    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title="memex",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(DAY, "public"), "server/discover": CacheHint(DAY, "public")},
        get_tool_input_schema=lambda _name: None,  # no argument is mirrored in a header
        on_list_tools=list_tools,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.middleware.clear()  # spans for an exporter that memex does not have
    return server


def described(tool: Tool) -> types.Tool:
    """As `tools/list` shows it."""
    hints = types.ToolAnnotations(
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.repeatable,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.text, input_schema=tool.schema, annotations=hints
    )


async def told(tool: Tool, call: Call) -> Told:
    """What a call comes to, whatever that is: a failure is a result that the model can read."""
    try:
        return await tool.run(call)
    except MemexError as error:
        outward = next(OUTWARD[kind] for kind in type(error).__mro__ if kind in OUTWARD)
        return failure(outward(error), error.code, error)
    except Exception as error:
        log.exception("unexpected %s in %s", type(error).__name__, tool.name)
        return failure(INTERNAL, MemexError.code, error)


def failure(text: str, code: str, error: Exception) -> Told:
    """With REST's body as its structured content."""
    detail: Any = list(map(rooted, error.problems)) if isinstance(error, Invalid) else text
    return Told(text, {"detail": detail, "code": code, "request_id": logs.request_id.get()}, failed=True)


def rooted(problem: Problem) -> Problem:
    """A fault that a service found is one of the arguments all the same."""
    return msgspec.structs.replace(problem, loc=(*ARGUMENTS, *problem.loc[1:]))


def result(told: Told) -> dict[str, Any]:
    """As the protocol has it; the kernel checks it against its revision, for which the SDK's own model is a detour."""
    return {
        "content": [{"type": "text", "text": told.text}],
        "structuredContent": msgspec.to_builtins(told.content),
        "isError": told.failed,
        "resultType": "complete",
    }
