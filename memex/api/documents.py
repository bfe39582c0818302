"""/, /docs, /redoc and /openapi.json: the service describes itself, and loads nothing from elsewhere to do so."""

from collections.abc import Sequence

import msgspec
from litestar.types import ASGIApp

from memex.api.openapi import document
from memex.api.page import page
from memex.api.replies import HTML, JSON, Reply, encode, json
from memex.api.routes import Answer, Connection, Handler, Operation, Route

TAG = "documents"
# The page is whole: even if a text in it were markup, nothing could run or be fetched.
SEALED = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'")
NO_SNIFF = (b"x-content-type-options", b"nosniff")


class Welcome(msgspec.Struct, frozen=True):
    """What answers here."""

    service: str
    """The configured name."""
    version: str
    """Of memex."""
    docs: str = "/docs"
    """Where the documentation is."""


ROOT = Operation(
    method="GET",
    path="/",
    name="root",
    summary="What this service is",
    text="A browser is taken to /docs.",
    head=True,
    tag=TAG,
    constant=True,
    answers=(
        Answer(200, "Name and version.", Welcome, example={"service": "memex", "version": "0.1.0", "docs": "/docs"}),
        Answer(307, "To /docs, for `Accept: text/html`."),
    ),
)
DOCS = Operation(
    method="GET",
    path="/docs",
    name="docs",
    summary="This documentation for people",
    head=True,
    tag=TAG,
    constant=True,
    answers=(Answer(200, "A page.", media="text/html"),),
)
REDOC = msgspec.structs.replace(DOCS, path="/redoc", name="redoc", summary="The same page under its other usual name")
OPENAPI = Operation(
    method="GET",
    path="/openapi.json",
    name="openapi",
    summary="This documentation for programs",
    head=True,
    tag=TAG,
    constant=True,
    answers=(Answer(200, "OpenAPI 3.1.", dict),),
)


def routes(name: str, version: str, address: str, others: Sequence[Operation]) -> list[Route]:
    """`name`, `version` and `address` (http://host:port) of the service; `others` are listed beside these routes."""
    described = document(name, version, [*others, ROOT, DOCS, REDOC, OPENAPI])
    html = Reply(200, page(described, address).encode(), HTML, SEALED, NO_SNIFF)
    plain = Reply(200, encode(described), JSON)
    return [
        Route(ROOT, root(json(200, Welcome(name, version), (b"vary", b"accept")))),
        Route(DOCS, always(html)),
        Route(REDOC, always(html)),
        Route(OPENAPI, always(plain)),
    ]


def root(welcome: Reply) -> Handler:
    """Programs get the facts, browsers the page."""
    away = Reply(307, b"", (b"location", b"/docs"), (b"vary", b"accept"))

    async def handle(request: Connection) -> ASGIApp:
        accepted = dict(request.scope["headers"]).get(b"accept", b"")
        return away if b"text/html" in accepted.lower() else welcome

    return handle


def always(reply: Reply) -> Handler:
    """One answer made at the start."""

    async def handle(request: Connection) -> ASGIApp:
        return reply

    return handle
