"""A route: what it takes and gives, of which the documentation is made, and the handler that does it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import msgspec
from litestar import HttpMethod, Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from memex.api.problems import rate
from memex.api.replies import Header, Reply
from memex.errors import MemexError
from memex.model import Scope
from memex.service import Limiter

LINES = "application/x-ndjson"
"""The media type of one JSON value a line."""
ALSO_LINES = ("application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines")
"""What clients call it too: none of these names is registered."""

Connection = Request[Any, Any, Any]
Handler = Callable[[Connection], Awaitable[ASGIApp]]


class Answer(msgspec.Struct, frozen=True):
    """One successful outcome."""

    status: int
    text: str
    content: type[Any] | None = None
    """The struct of the body, None for no body or one that is not JSON."""
    media: str = "application/json"
    example: Any = None
    headers: dict[str, dict[str, Any]] = {}
    """Name → OpenAPI's description of a header."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a route takes and gives."""

    method: str
    path: str
    """With parameters as `{name}`."""
    name: str
    """Stable, for generated clients."""
    summary: str
    text: str = ""
    tag: str = "memories"
    body: Any = None
    """A struct, or a list of structs."""
    example: Any = None
    """A body that works."""
    streamed: bool = False
    """Whether the body may also be a stream of the list's items, one a line, as large as it likes."""
    arguments: dict[str, Any] = {}
    """Parameters that work, by name."""
    path_parameters: dict[str, dict[str, Any]] = {}
    """Name → JSON schema."""
    headers: dict[str, dict[str, Any]] = {}
    """Those that the route looks at, beside what all do: name → JSON schema."""
    query: type[Any] | None = None
    answers: tuple[Answer, ...]
    errors: tuple[type[MemexError], ...] = ()
    limited: bool = False
    """Whether a rate limit applies, told in the RateLimit headers."""
    constant: bool = False
    """Whether the answer is made at the start, so that nothing can fail."""
    head: bool = False
    """Whether HEAD is answered too, for monitors that ask so."""

    @property
    def methods(self) -> list[HttpMethod]:
        """All that the route takes."""
        return [HttpMethod(self.method), *([HttpMethod.HEAD] if self.head else [])]


class Route(msgspec.Struct, frozen=True):
    """One operation and what performs it."""

    operation: Operation
    handler: Handler

    def for_router(self) -> HTTPRouteHandler:
        """As Litestar registers it. Answers are complete already, so nothing is left for it to encode."""
        return HTTPRouteHandler(
            template(self.operation),
            http_method=self.operation.methods,
            name=self.operation.name,
            status_code=200,  # unused: answers carry their own
        )(self.handler)


def template(operation: Operation) -> str:
    """The path as Litestar writes it."""
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", f"{{{name}:str}}")
    return path


def options(found: Iterable[Route]) -> Iterator[HTTPRouteHandler]:
    """What answers OPTIONS at each path, to be registered first.

    Otherwise Litestar makes one with the first handler of a path, which knows of no other method.
    """
    methods: dict[str, list[str]] = {}
    for route in found:
        methods.setdefault(template(route.operation), ["OPTIONS"]).extend(route.operation.methods)
    for path, names in methods.items():
        yield HTTPRouteHandler(path, http_method=HttpMethod.OPTIONS, status_code=200)(allowing(names))


def allowing(methods: list[str]) -> Handler:
    """Says which methods there are."""
    reply = Reply(204, b"", (b"allow", ", ".join(sorted(methods)).encode()))

    async def handle(request: Connection) -> ASGIApp:
        return reply

    return handle


def allowance(limiter: Limiter, caller: Scope, kind: str) -> list[Header]:
    """The RateLimit headers of an answered request; none where the limit is off."""
    left = limiter.allowance(caller, kind)
    return rate(left.limit, left.remaining, left.reset) if left else []
