"""The parent process: checks, the embedded database, migrations, and the workers that Granian runs."""

import ipaddress
import logging
import math
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.log import LogLevels

from memex.app import environment
from memex.app.preparation import database, prepare
from memex.errors import AddressRefused, PortTaken
from memex.settings import AuthMode, Server, Settings, Values

log = logging.getLogger("memex")

STEADY_SECONDS = 15.0
"""A service that took requests for so long has shown that its workers can run."""
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {},
    "handlers": {},
    "loggers": {"_granian": {"level": "WARNING", "propagate": True}},
}
CLOSING_SECONDS = 5
"""For writing out what was accepted, after the last request."""


def serve(settings: Settings, options: Values) -> None:
    """Serves until SIGTERM or SIGINT. Raises StartupError where it cannot start."""
    stop_cleanly()
    log.info("data directory %s", settings.home)
    check_address(settings)
    check_port(settings.server.host, settings.server.port)
    with database(settings) as conninfo, sharing(settings.server):
        prepare(conninfo, settings)
        environment.hand_down(options, settings.home, conninfo)
        run_workers(settings.server)


def stop_cleanly() -> None:
    """Until Granian handles signals itself, they unwind the stack, so that what was started is stopped."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def check_address(settings: Settings) -> None:
    """Raises AddressRefused where others than this machine could reach a service that trusts everybody."""
    host = settings.server.host
    if settings.auth.mode is AuthMode.LOCAL and not loopback(host):
        raise AddressRefused(
            f"{host} is not served without keys, since whoever reaches it could read everything. "
            "Serve 127.0.0.1, or set MEMEX_AUTH_MODE=off if the network around it is closed."
        )


def loopback(host: str) -> bool:
    """Whether `host` is an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_port(host: str, port: int) -> None:
    """Raises PortTaken with what to do; Granian would only print a trace."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise PortTaken(
            f"Cannot listen on {host}:{port} ({error.strerror}): "
            "stop what uses it, or choose another with --port or MEMEX_SERVER_PORT."
        ) from error


@contextmanager
def sharing(server: Server) -> Iterator[None]:
    """With several workers, a directory for what they have in common."""
    if server.workers == 1:
        yield
        return
    prefix = f"memex-{server.port}-"
    clear(prefix)
    directory = tempfile.mkdtemp(prefix=prefix)
    environment.share_directory(directory)
    try:
        yield
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def clear(prefix: str) -> None:
    """Removes what killed services of ours left behind. Nobody living has it: the port in its name is free."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        if left.lstat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)


def run_workers(server: Server) -> None:
    """Runs Granian until it is told to stop.

    It gives up when a worker dies twice within seconds. After a steady time that is bad luck and it is begun anew;
    workers that never get going are a fault that it must not hide.
    """
    # A forked worker would inherit the locks of the threads that supervise the database.
    multiprocessing.set_start_method("spawn", force=True)
    while True:
        began, workers = time.monotonic(), granian(server)
        try:
            workers.serve()
        except SystemExit:
            if workers.interrupt_signal or time.monotonic() - began < STEADY_SECONDS:
                raise
        if workers.interrupt_signal:
            return
        stop_cleanly()
        log.error("workers died one after the other: beginning anew")


def granian(server: Server) -> Any:
    """The server that starts the workers, replaces one that dies, and stops them."""
    return Granian(
        "memex.app.worker:create_app",
        factory=True,
        address=server.host,
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
