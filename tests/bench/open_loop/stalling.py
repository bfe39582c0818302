"""A server that holds its first answer, and with it everything that comes meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Stalling:
    """Everything is answered at once, but nothing before `stall` seconds after the first request."""

    def __init__(self, stall: float, answer: bytes = ANSWER) -> None:
        self._stall = stall
        self._answer = answer
        self._open: asyncio.Event | None = None
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                self.bodies.append(await reader.readexactly(length))
                await self.opened()
                writer.write(self._answer)
        writer.close()

    async def opened(self) -> None:
        if self._open is None:
            self._open = asyncio.Event()
            await asyncio.sleep(self._stall)
            self._open.set()
        await self._open.wait()


@asynccontextmanager
async def listening(server: Stalling) -> AsyncIterator[str]:
    """Its address."""
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
