"""The ASGI lifespan around an application: what it needs is open before its first request and closed after its last."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from memex.errors import MemexError

log = logging.getLogger("memex")


class Lifespan:
    """The outermost ASGI application of a worker."""

    def __init__(
        self, app: Any, running: Callable[[], AbstractAsyncContextManager[None]], started: Callable[[], None]
    ) -> None:
        """`running` opens what `app` needs, and closes it; `started` is called between the two."""
        self._app = app
        self._running = running
        self._started = started

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """A request goes on to the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()  # lifespan.startup
        try:
            async with self._running():
                self._started()
                await send({"type": "lifespan.startup.complete"})
                await receive()  # lifespan.shutdown
        except MemexError as error:
            log.error("this worker cannot serve: %s", error.message)  # noqa: TRY400 (one line, no trace)
            await send({"type": "lifespan.startup.failed", "message": error.message})
        else:
            await send({"type": "lifespan.shutdown.complete"})
