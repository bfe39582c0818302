"""Answers as ASGI messages, encoded once: what Litestar's own responses cost more time for."""

from typing import Any

import msgspec
from litestar.types import Receive, Send

JSON = (b"content-type", b"application/json")
HTML = (b"content-type", b"text/html; charset=utf-8")
BODILESS = (204, 304)
Header = tuple[bytes, bytes]

encode = msgspec.json.Encoder().encode


class Reply:
    """One complete answer; an ASGI application. It may be sent any number of times."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", *headers: Header) -> None:
        """`headers` come beside Content-Length; their names are lower case."""
        self.status = status
        self.body = body
        # Without a body its length says nothing: that of 304 would have to be the length of what the client has.
        self.headers = [*headers] if status in BODILESS else [*headers, (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Sends it, to HEAD without the body."""
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def to_asgi_response(self, app: Any, request: Any, **_: Any) -> "Reply":
        """Itself: the one thing that Litestar asks of what an exception handler returns."""
        return self


def json(status: int, content: Any, *headers: Header) -> Reply:
    """A struct or plain value as JSON."""
    return Reply(status, encode(content), JSON, *headers)
