"""A light HTTP/1.1 client for load: keep-alive, one request at a time per connection, few microseconds each."""

import asyncio
from collections.abc import Mapping
from typing import Self

import msgspec

JSON = {"Content-Type": "application/json"}


class Connection:
    """One keep-alive connection. Speaks the little HTTP/1.1 that memex answers with: Content-Length bodies."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        """Made by `open`."""
        self._reader = reader
        self._writer = writer
        self._host = host
        self.head = b""
        """Status line and headers of the last answer."""

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connects to `url`, which is `http://host:port`."""
        host = url.removeprefix("http://")
        name, _, port = host.partition(":")
        return cls(*await asyncio.open_connection(name, int(port)), host)

    async def post(self, path: str, body: bytes, headers: Mapping[str, str] = JSON) -> tuple[int, bytes]:
        """Status and body of a POST, by default with a JSON body."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        length = f"Content-Length: {len(body)}\r\n"
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\n{lines}{length}\r\n"
        return await self._exchange(head.encode() + body)

    async def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of a GET."""
        return await self._exchange(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        self._writer.write(request)
        self.head = await self._reader.readuntil(b"\r\n\r\n")
        return int(self.head[9:12]), await self._reader.readexactly(content_length(self.head))

    async def __aenter__(self) -> Self:
        """Hangs up at the end: a loop of uvloop does not end while a connection is open."""
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hangs up."""
        self._writer.close()
        await self._writer.wait_closed()


def content_length(head: bytes) -> int:
    """The Content-Length of a response head, 0 if it has none."""
    lower = head.lower()
    at = lower.find(b"content-length:")
    return int(lower[at + 15 : lower.find(b"\r\n", at)]) if at >= 0 else 0


async def call(connection: Connection, path: str, payload: object) -> dict[str, object]:
    """The decoded answer; anything but a 2xx ends the measurement."""
    status, body = await connection.post(path, msgspec.json.encode(payload))
    if not 200 <= status < 300:
        raise SystemExit(f"POST {path} gave {status}: {body[:300].decode(errors='replace')}")
    return msgspec.json.decode(body, type=dict[str, object])
