"""What is counted on every request. Nothing reads it here; counting is part of the cost."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LABELS = ("method", "status", "handler")
FINE = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60)
REGISTRY = CollectorRegistry()

REQUESTS = Counter("http_requests_total", "Requests.", LABELS, registry=REGISTRY)
REQUEST_SIZE = Summary("http_request_size_bytes", "Bodies that came in.", ("handler",), registry=REGISTRY)
RESPONSE_SIZE = Summary("http_response_size_bytes", "Bodies that went out.", ("handler",), registry=REGISTRY)
DURATION = Histogram(
    "http_request_duration_seconds", "By handler.", ("method", "handler"), buckets=(0.1, 0.5, 1), registry=REGISTRY
)
FINE_DURATION = Histogram("http_request_duration_highr_seconds", "Of all.", buckets=FINE, registry=REGISTRY)
EMBEDDING = Histogram(
    "memex_embedding_duration_seconds",
    "From the request for a thread to the vector.",
    ("operation",),
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
OPERATIONS = Counter("memex_memory_operations_total", "What was done.", ("operation",), registry=REGISTRY)


class Counting:
    """ASGI middleware around the application."""

    def __init__(self, app: Application) -> None:
        """`app` is what it surrounds."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on and notes status, sizes and time of HTTP requests."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        head: Message = {"status": 500, "headers": []}
        begin = time.perf_counter()

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            note(scope, head, time.perf_counter() - begin)


def note(scope: Scope, head: Message, seconds: float) -> None:
    """One finished request."""
    handler = getattr(scope.get("route"), "path", "none")
    REQUESTS.labels(scope["method"], f"{head['status'] // 100}xx", handler).inc()
    REQUEST_SIZE.labels(handler).observe(length(scope["headers"]))
    RESPONSE_SIZE.labels(handler).observe(length(head["headers"]))
    DURATION.labels(scope["method"], handler).observe(seconds)
    FINE_DURATION.observe(seconds)


def length(headers: list[tuple[bytes, bytes]]) -> int:
    """Content-Length, 0 without one."""
    return next((int(value) for name, value in headers if name.lower() == b"content-length"), 0)
