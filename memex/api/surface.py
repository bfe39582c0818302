"""What is served over HTTP as one ASGI application."""

from typing import Any

from litestar import Litestar

from memex import __version__
from memex.api import (
    batch,
    changes,
    context,
    documents,
    health,
    history,
    listing,
    memories,
    notes,
    problems,
    removal,
    rpc,
    search,
    stats,
)
from memex.api.door import WILDCARDS, Door
from memex.api.routes import Connection, Route, options
from memex.metrics import Metrics
from memex.service import Services
from memex.settings import Server, Settings, UnknownFields

LISTED = "GET /openapi.json lists them."


def create_api(settings: Settings, services: Services, metrics: Metrics, mcp: rpc.Exchange) -> Door:
    """The door in front of the router. It opens and closes nothing: what it is given must be running."""
    found = routes(settings, services, metrics, mcp)
    streams = {route.operation.path for route in found if route.operation.streamed}
    return Door(router(found), settings.server, metrics, streams)


def create_tools(settings: Settings, services: Services, metrics: Metrics, mcp: rpc.Exchange) -> Door:
    """The same door in front of the tools for agents alone, and of what operators ask."""
    found = [*rpc.routes(mcp), *health.routes(services, metrics)]
    return Door(router(found, f"The tools for agents are at {rpc.MCP.path}."), settings.server, metrics)


def routes(settings: Settings, services: Services, metrics: Metrics, mcp: rpc.Exchange) -> list[Route]:
    """Every route of the service, the self-description last."""
    lenient = settings.api.unknown_fields is UnknownFields.IGNORE
    found = [
        *memories.routes(services, lenient=lenient),
        *batch.routes(services, lenient=lenient),
        *listing.routes(services, lenient=lenient),
        *history.routes(services, lenient=lenient),
        *changes.routes(services, lenient=lenient),
        *removal.routes(services, lenient=lenient),
        *search.routes(services, lenient=lenient),
        *context.routes(services, lenient=lenient),
        *stats.routes(services, lenient=lenient),
        *notes.routes(services, lenient=lenient),
        *rpc.routes(mcp),
        *health.routes(services, metrics),
    ]
    described = [route.operation for route in found]
    return [*found, *documents.routes(settings.app.name, __version__, address(settings.server), described)]


def address(server: Server) -> str:
    """Where a client on this machine finds the service."""
    host = "127.0.0.1" if server.host in WILDCARDS else server.host
    return f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"


def router(found: list[Route], where: str = LISTED) -> Litestar:
    """Litestar with what memex uses of it: routing. Logging, schemas and encoding are our own.

    `where` tells of the routes, to whom asks for one that there is not.
    """

    def answer_error(_: Connection, error: Exception) -> Any:
        return problems.reply(error, where)

    return Litestar(
        [*options(found), *(route.for_router() for route in found)],
        exception_handlers={Exception: answer_error},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
