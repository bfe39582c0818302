"""What every request passes first, in plain ASGI: refusing here costs a tenth of refusing behind the router.

In this order: a request id, Host and Origin, the admission limit, the declared size of the body.
"""

import logging
import os
import re
import time
from collections.abc import Container
from typing import Any

from litestar.types import ASGIApp, Receive, Scope, Send

from memex import logs
from memex.api import problems
from memex.api.hosts import Hosts
from memex.api.routes import ALSO_LINES, LINES
from memex.api.traffic import UNMATCHED, Traffic
from memex.errors import BodyTooLarge, HostRefused, MemexError, Overloaded
from memex.metrics import Metrics
from memex.settings import Server

log = logging.getLogger("memex.api")

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# These must answer when all else is refused: they tell why.
OPERATORS = ("/livez", "/readyz", "/health", "/api/health", "/metrics")
LINED = frozenset(name.encode() for name in (LINES, *ALSO_LINES))
ALWAYS = frozenset(f"{path}{slash}" for path in OPERATORS for slash in ("", "/"))
UNREADABLE = 400
WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - not an address to bind to: a name that is nobody's


class Door:
    """The outermost ASGI application."""

    def __init__(self, inner: ASGIApp, server: Server, metrics: Metrics, streams: Container[str] = ()) -> None:
        """`inner` routes and answers; bodies of the paths `streams` may be of any size if they come in lines."""
        self._inner = inner
        self._hosts = Hosts([*server.allowed_hosts, *({server.host} - WILDCARDS)])
        self._most_in_flight = server.max_in_flight
        self._most_bytes = server.max_body_bytes
        self._traffic = Traffic(metrics)
        self._streams = streams
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the process."""
        kind: str = scope["type"]
        if kind == "http":
            await self._request(scope, receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "memex has no WebSocket"})
        else:
            await self._inner(scope, receive, send)

    async def _request(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = folded(scope["headers"])
        identity = identify(headers.get(b"x-request-id"))
        token = logs.request_id.set(identity.decode())
        exchange = Exchange(scope, receive, send, identity)
        try:
            if refusal := self._refusal(scope["path"], headers):
                await self._refuse(refusal, exchange)
            else:
                await self._serve(exchange, self._receiver(exchange, headers))
        finally:
            logs.request_id.reset(token)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> MemexError | None:
        if not self._hosts.welcome(headers.get(b"host"), headers.get(b"origin")):
            return HostRefused()
        if self._in_flight >= self._most_in_flight and path not in ALWAYS:
            return Overloaded()
        if self._is_stream(path, headers):
            return None
        length = headers.get(b"content-length", b"")
        return BodyTooLarge() if length.isdigit() and int(length[:32]) > self._most_bytes else None

    async def _refuse(self, refusal: MemexError, exchange: "Exchange") -> None:
        reply = problems.known(refusal)
        self._traffic.refused(exchange.scope["method"], refusal.code, reply.status)
        await reply(exchange.scope, exchange.receive, exchange.send)

    def _receiver(self, exchange: "Exchange", headers: dict[bytes, bytes]) -> Receive:
        """A declared length was checked, and the server holds the client to it; other bodies are counted."""
        if b"content-length" in headers or self._is_stream(exchange.scope["path"], headers):
            return exchange.receive
        return Counted(exchange.receive, self._most_bytes)

    def _is_stream(self, path: str, headers: dict[bytes, bytes]) -> bool:
        """Whether a body is read line by line, each of which has a limit."""
        return path.rstrip("/") in self._streams and is_lines(headers.get(b"content-type", b""))

    async def _serve(self, exchange: "Exchange", receive: Receive) -> None:
        self._in_flight += 1
        self._traffic.begin()
        start = time.perf_counter()
        try:
            await self._inner(exchange.scope, receive, exchange.send)
        except Exception as error:  # noqa: BLE001 - the last one to see it
            await exchange.fail(error)
        finally:
            self._in_flight -= 1
            self._traffic.end()
            scope, seconds = exchange.scope, time.perf_counter() - start
            self._traffic.served(scope["method"], scope.get("path_template", UNMATCHED), exchange.status, seconds)


class Exchange:
    """One request and its answer: notes the status and adds the request id."""

    __slots__ = ("_identity", "_send", "receive", "scope", "status")

    def __init__(self, scope: Any, receive: Receive, send: Send, identity: bytes) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self._identity = identity
        self.status = problems.CLIENT_GONE
        """What stands if nothing was ever answered: the request was cancelled because its client left."""

    async def send(self, message: Any) -> None:
        """Passes a message on; that the client left is noted, not an error."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # Who is still there has sent what is no HTTP, such as a chunk without a length; for the server that is one.
            status = UNREADABLE if self.status == problems.CLIENT_GONE else self.status
            headers = [*message["headers"], (b"x-request-id", self._identity)]
            message = {**message, "status": status, "headers": headers}
        try:
            await self._send(message)
        except OSError:
            self.status = problems.CLIENT_GONE

    async def fail(self, error: Exception) -> None:
        """An error that came past the router: answered if nothing was sent yet, else only logged."""
        if self.status == problems.CLIENT_GONE:
            await problems.reply(error)(self.scope, self.receive, self.send)
        else:
            log.error("failed in the middle of an answer", exc_info=error)


class Counted:
    """Receives a body of unknown length up to a limit."""

    __slots__ = ("_most", "_receive", "_seen")

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._seen = 0

    async def __call__(self) -> Any:
        """The next message. Raises BodyTooLarge."""
        message: Any = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._most:
            raise BodyTooLarge
        return message


def is_lines(declared: bytes) -> bool:
    """Whether a content type is that of one JSON value a line."""
    return declared.split(b";")[0].strip().lower() in LINED


def folded(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; one that is repeated is a list (RFC 9110, 5.3), which no Host, Origin or length may be."""
    headers = dict(pairs)
    if len(headers) != len(pairs):
        for name in headers:
            headers[name] = b", ".join(value for given, value in pairs if given == name)
    return headers


def identify(given: bytes | None) -> bytes:
    """The caller's id if it is harmless in a log, else a new one."""
    if given is not None and REQUEST_ID.fullmatch(given):
        return given
    return os.urandom(8).hex().encode()
