"""One worker process: everything is constructed here, once, and opened and closed with the ASGI lifespan."""

import gc
import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from memex.api import create_api, create_tools
from memex.api.rpc import Exchange as Answering
from memex.api.surface import address as url
from memex.app import environment, places, signals
from memex.app.lifespan import Lifespan
from memex.app.orphans import follow_parent
from memex.app.parts import assemble
from memex.embedder import Embedder, open_embedder
from memex.errors import MemexError
from memex.logs import configure
from memex.mcp.exchange import Exchange
from memex.mcp.server import create_server
from memex.metrics import Metrics
from memex.service import Services, Share
from memex.settings import Server, Settings, UnknownFields

log = logging.getLogger("memex")

Create = Callable[[Settings, Services, Metrics, Answering], Any]


def create_app() -> Any:
    """The ASGI application that Granian serves in each worker of `memex serve`."""
    return prepared(create_api, "/docs")


def create_mcp() -> Any:
    """The same for `memex mcp --transport http`."""
    return prepared(create_tools, "/mcp/")


def prepared(create: Create, place: str) -> Any:
    """A worker's application, from the environment that its parent left."""
    settings = environment.read()
    configure("debug" if settings.app.debug else settings.log.level, settings.log.format)
    signals.hold()
    follow_parent()
    shared = environment.shared_directory()
    metrics = Metrics(shared)
    embedder = ready_embedder(settings, metrics)
    share = places.claim(shared, settings.server.workers)
    return compose(settings, embedder, metrics, share, partial(started, settings.server, share, place), create)


def ready_embedder(settings: Settings, metrics: Metrics) -> Embedder:
    """The embedder; this process ends with one line in the log where there can be none."""
    try:
        return open_embedder(settings.embedding, settings.server.workers, metrics)
    except MemexError as error:
        log.error("this worker cannot serve: %s", error.message)  # noqa: TRY400 (one line, no trace)
        sys.exit(1)


def started(server: Server, share: Share, place: str) -> None:
    """Tells people where to look."""
    signals.stop_once()
    gc.freeze()  # what was loaded stays: collections need not look at it again
    who = f"worker {share.index + 1} of {share.workers} is " if share.workers > 1 else ""
    log.info("%sready on %s, see %s there", who, url(server), place)


def compose(
    settings: Settings,
    embedder: Embedder,
    metrics: Metrics,
    share: Share,
    started: Callable[[], None] = lambda: None,
    create: Create = create_api,
) -> Any:
    """The application for `settings`, as `create` makes it of the parts; `database.url` says where the store is."""
    parts = assemble(settings, embedder, metrics, share)

    async def services() -> Services:
        return parts.services

    server = create_server(services, lenient=settings.api.unknown_fields is UnknownFields.IGNORE)
    surface = create(settings, parts.services, metrics, Exchange(server).answer)
    return Lifespan(surface, parts.running, started)
