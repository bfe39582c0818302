"""The parent process: checks, the embedded database, migrations, and the workers that Granian runs."""

import contextlib
import fcntl
import logging
import math
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.log import LogLevels

from memex.app import environment, signals
from memex.app.databases import database
from memex.app.listening import check_address, reserved
from memex.app.models import located
from memex.app.preparation import prepare
from memex.settings import Server, Settings, Values

log = logging.getLogger("memex")

REST, TOOLS = "memex.app.worker:create_app", "memex.app.worker:create_mcp"
"""What a worker can serve: everything, or the tools for agents alone."""
STEADY_SECONDS = 15.0
"""A service that took requests for so long has shown that its workers can run."""
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {},
    "handlers": {},
    "loggers": {"_granian": {"level": "WARNING", "propagate": True}},
}
SHARED = "memex-workers-"
OWNER = "owner.lock"
CLOSING_SECONDS = 5
"""For writing out what was accepted, after the last request."""


def serve(settings: Settings, options: Values, target: str = REST) -> None:
    """Serves what `target` makes until SIGTERM or SIGINT. Raises StartupError where it cannot start."""
    signals.stop_cleanly()
    log.info("data directory %s", settings.home)
    check_address(settings)
    settings = with_model(settings, options)
    server = settings.server
    with reserved(server.host, server.port) as address, database(settings) as conninfo, sharing(server):
        prepare(conninfo, settings)
        environment.hand_down(options, settings.home, conninfo)
        run_workers(server, address, target)


def with_model(settings: Settings, options: Values) -> Settings:
    """The settings with the model's directory in them and in `options`, so that no worker has to look for it."""
    model = located(settings)
    options.setdefault("embedding", {})["model"] = model
    return msgspec.structs.replace(settings, embedding=msgspec.structs.replace(settings.embedding, model=model))


@contextmanager
def sharing(server: Server) -> Iterator[None]:
    """With several workers, a directory for what they have in common."""
    if server.workers == 1:
        yield
        return
    clear()
    directory = Path(tempfile.mkdtemp(prefix=SHARED))
    with hold(directory / OWNER):
        environment.share_directory(str(directory))
        try:
            yield
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def clear() -> None:
    """Removes what killed services of ours left behind: directories whose lock nobody holds."""
    for left in Path(tempfile.gettempdir()).glob(f"{SHARED}*"):
        with contextlib.suppress(OSError), hold(left / OWNER, os.O_RDWR):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def hold(file: Path, flags: int = os.O_RDWR | os.O_CREAT) -> Iterator[None]:
    """Locks a file as long as the process lives. Raises OSError where another has it, or it is not ours."""
    lock = os.open(file, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def run_workers(server: Server, address: str, target: str) -> None:
    """Runs Granian until it is told to stop.

    It gives up when a worker dies twice within seconds. After a steady time that is bad luck and it is begun anew;
    workers that never get going are a fault that it must not hide.
    """
    # A forked worker would inherit the locks of the threads that supervise the database.
    multiprocessing.set_start_method("spawn", force=True)
    while True:
        began, workers = time.monotonic(), granian(server, address, target)
        try:
            workers.serve()
        except SystemExit:
            # Told to stop, it has done as it was told, even if a worker that was told too did not live to say so.
            if not workers.interrupt_signal and time.monotonic() - began < STEADY_SECONDS:
                raise
        signals.stop_cleanly()
        if workers.interrupt_signal:
            return
        log.error("workers died one after the other: beginning anew")


class Workers(Granian):  # type: ignore[misc,valid-type]  # it is chosen at run time
    """Granian, but for what its workers would print when Ctrl-C comes before they listen to it."""

    def _spawn_worker(self, *args: Any, **options: Any) -> Any:
        worker = super()._spawn_worker(*args, **options)
        start = worker.start

        def quietly() -> None:
            with signals.quiet():
                start()

        worker.start = quietly
        return worker


def granian(server: Server, address: str, target: str) -> Any:
    """The server that starts the workers, replaces one that dies, and stops them."""
    workers: Any = Workers(
        target,
        factory=True,
        address=address,
        port=server.port,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        websockets=False,
        workers=server.workers,
        backlog=2048,
        backpressure=4096,  # it limits connections; requests are limited at the door
        respawn_failed_workers=True,
        workers_kill_timeout=math.ceil(server.drain_seconds) + CLOSING_SECONDS,
        log_level=LogLevels.warning,
        log_dictconfig=LOGGING,
    )
    workers.signal_handler_interrupt = signals.deferred(workers.signal_handler_interrupt)
    workers.signal_handler_reload = signals.deferred(workers.signal_handler_reload)
    return workers
