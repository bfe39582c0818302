"""`memex mcp` over stdio: one process for one client, with the database of its data directory, shared or its own."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import msgspec

from memex.app import signals
from memex.settings import Settings, UnknownFields

if TYPE_CHECKING:
    from memex.embedder import Embedder
    from memex.metrics import Metrics
    from memex.service import Services

log = logging.getLogger("memex")


class Prepared(msgspec.Struct, frozen=True):
    """What takes time to have."""

    settings: Settings
    """With the database's address and the model's directory."""
    embedder: "Embedder"
    metrics: "Metrics"


class Preparation:
    """Brings up the database and the model in a thread, while the client is being greeted."""

    def __init__(self, settings: Settings) -> None:
        """Begins at once."""
        self.ready: Future[Prepared] = Future()
        self._done = Event()
        self._thread = Thread(target=self._run, args=(settings,), name="preparation")
        self._thread.start()

    def end(self) -> None:
        """Leaves the database, which stops if nobody else uses it."""
        self._done.set()
        self._thread.join()

    def _run(self, settings: Settings) -> None:
        try:
            from memex.app.databases import database  # noqa: PLC0415 (half a start's time is loading libraries)

            with database(settings) as conninfo:
                self.ready.set_result(prepared(settings, conninfo))
                self._done.wait()
        except BaseException as error:
            if self.ready.done():
                raise
            self.ready.set_exception(error)


def prepared(settings: Settings, conninfo: str) -> Prepared:
    """The schema is current and the model open. Raises StartupError."""
    from memex.app.models import located  # noqa: PLC0415 (loads NumPy, as the others do)
    from memex.app.preparation import prepare  # noqa: PLC0415
    from memex.embedder import open_embedder  # noqa: PLC0415
    from memex.metrics import Metrics  # noqa: PLC0415

    import_module("memex.app.parts")
    embedding = msgspec.structs.replace(settings.embedding, model=located(settings))
    store = msgspec.structs.replace(settings.database, url=conninfo)
    found = msgspec.structs.replace(settings, embedding=embedding, database=store)
    prepare(conninfo, found)
    metrics = Metrics()
    return Prepared(found, open_embedder(embedding, 1, metrics), metrics)


def serve(settings: Settings) -> None:
    """Serves the client at stdin and stdout until it closes its end. Raises StartupError."""
    signals.stop_cleanly()
    with wires() as (source, sink):
        preparation = Preparation(settings)
        try:
            load_sdk()
            asyncio.run(talk(settings, preparation, source, sink))
        finally:
            preparation.end()


@contextmanager
def wires() -> Iterator[tuple[int, int]]:
    """Stdin and stdout under numbers that nothing else knows: what is printed anywhere goes to stderr from now on."""
    sys.stdout.flush()
    source, sink, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    yield source, sink


def load_sdk() -> None:
    """Half of the time to start, while the database and the model come up."""
    gc.disable()  # of thousands of classes that live for ever nothing is garbage
    import_module("memex.mcp.stdio")
    import_module("memex.mcp.server")
    gc.freeze()
    gc.enable()


async def talk(settings: Settings, preparation: Preparation, source: int, sink: int) -> None:
    """Converses until the client has enough or this process is told to stop; tools wait until all is prepared."""
    from memex.mcp.server import create_server  # noqa: PLC0415 (loaded by `load_sdk`)
    from memex.mcp.stdio import Wires, converse  # noqa: PLC0415

    services: asyncio.Future[Services] = asyncio.get_running_loop().create_future()

    async def ready() -> "Services":
        return await asyncio.shield(services)

    server = create_server(ready, lenient=settings.api.unknown_fields is UnknownFields.IGNORE)
    wires = Wires(source, sink, settings.server.max_body_bytes)
    conversation = asyncio.create_task(converse(server, wires, settings.server.drain_seconds))
    for number in signals.STOPS:
        asyncio.get_running_loop().add_signal_handler(number, conversation.cancel)
    try:
        await provide(services, preparation, conversation)
    finally:
        conversation.cancel()
        await asyncio.wait([conversation])


async def provide(services: "asyncio.Future[Services]", preparation: Preparation, until: "asyncio.Task[None]") -> None:
    """Sets `services` when they can be called, and keeps them open until the task has ended. Raises StartupError."""
    ready = asyncio.wrap_future(preparation.ready)
    either: list[asyncio.Future[Any]] = [ready, until]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if until.done():
        return
    found = ready.result()
    from memex.app.parts import assemble  # noqa: PLC0415 (loaded by `prepared`)
    from memex.service import Share  # noqa: PLC0415

    parts = assemble(found.settings, found.embedder, found.metrics, Share())
    async with parts.running():
        log.info("ready on stdin and stdout")
        services.set_result(parts.services)
        await asyncio.wait([until])
