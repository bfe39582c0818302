"""MCP over a pair of pipes: one message a line, in UTF-8 whatever the locale, until the client closes its end."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError
from functools import partial
from threading import Thread
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from memex import logs
from memex.mcp.messages import encoded, failed, message, request, wants_answer

CHUNK = 64 * 1024
TOO_LONG = types.ErrorData(code=types.INVALID_REQUEST, message="The message is over the limit")
ENDED = None
"""What stands for the end of the input among its lines."""

Line = bytes | types.ErrorData | None
Sending = MemoryObjectSendStream[SessionMessage | Exception]
Receiving = MemoryObjectReceiveStream[SessionMessage]


class Wires:
    """Where a client's messages come from and where answers go, as file descriptors."""

    def __init__(self, source: int, sink: int, most: int) -> None:
        """`most` is the longest message in bytes; a longer one is refused, not kept."""
        self._source = source
        self._sink = sink
        self._most = most

    async def lines(self) -> asyncio.Queue[Line]:
        """The queue that a thread fills with lines. It reads ahead by a few only, so that input waits in its pipe."""
        queue: asyncio.Queue[Line] = asyncio.Queue(maxsize=8)
        # A thread, because a pipe, a terminal and a file are all that stdin may be; a daemon, because a read that
        # waits for a client cannot be called off.
        put = partial(wait_for, asyncio.get_running_loop(), queue)
        Thread(target=self._read, args=(put,), name="stdin", daemon=True).start()
        return queue

    def _read(self, put: Any) -> None:
        rest = Rest(self._most)
        try:
            while chunk := os.read(self._source, CHUNK):
                for line in rest.lines(chunk):
                    put(line)
            for line in rest.lines(b"\n"):
                put(line)
            put(ENDED)
        except (RuntimeError, CancelledError):
            return  # the loop has closed: nobody reads any more

    async def write(self, raw: bytes) -> None:
        """One line, whole. Raises OSError where the client has gone."""
        await anyio.to_thread.run_sync(write_all, self._sink, raw + b"\n")


def wait_for(loop: asyncio.AbstractEventLoop, queue: "asyncio.Queue[Line]", line: Line) -> None:
    """From another thread: puts a line in the queue as soon as there is room. Raises RuntimeError without a loop."""
    putting = queue.put(line)
    try:
        asyncio.run_coroutine_threadsafe(putting, loop).result()
    finally:
        putting.close()


def write_all(sink: int, raw: bytes) -> None:
    """All of it, however much the pipe takes at once."""
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(sink, rest) :]


class Rest:
    """What is left of the input after its last line end, never more than the longest message."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()
        self._lost = False

    def lines(self, chunk: bytes) -> Iterator[bytes | types.ErrorData]:
        """The lines that `chunk` completes, blank ones left out; an error for one that is too long."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            line, lost = bytes(self._kept).strip(), self._lost
            self._kept.clear()
            self._lost = False
            if lost or line:
                yield TOO_LONG if lost else line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._lost = self._lost or len(self._kept) + len(part) > self._most
        if self._lost:
            self._kept.clear()
        else:
            self._kept += part


class Conversation:
    """One client's messages, read and answered."""

    def __init__(self, wires: Wires, patience: float) -> None:
        """`patience` is how long answers are waited for, in seconds, when the client sends nothing more."""
        self._wires = wires
        self._patience = patience
        self._open: set[int | str] = set()
        self._answered = asyncio.Event()

    async def hold(self, server: Server[Any]) -> None:
        """Until the client closes its end, and what it asked for is answered."""
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        from_server, to_client = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write, to_client, tasks.cancel_scope)
            tasks.start_soon(self._read, to_server)
            await server.run(from_client, from_server, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    async def _read(self, to_server: Sending) -> None:
        lines = await self._wires.lines()
        async with to_server:
            while (line := await lines.get()) is not ENDED:
                try:
                    await to_server.send(SessionMessage(self._noted(line)))
                except MCPError as error:
                    await self._wires.write(failed(None, error.error))
            await self._settle()

    def _noted(self, line: bytes | types.ErrorData) -> types.JSONRPCMessage:
        """The message of a line, its id kept until it is answered. Raises MCPError for what is none."""
        if isinstance(line, types.ErrorData):
            raise MCPError.from_error_data(line)
        said = message(line)
        if wants_answer(said):
            request(said)  # the adapter takes a request whose id is none for a notification
        try:
            sent: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_python(said, by_name=False)
        except ValueError as error:
            raise MCPError(types.INVALID_REQUEST, "This is no message of JSON-RPC") from error
        if isinstance(sent, types.JSONRPCRequest):
            self._open.add(sent.id)
        elif isinstance(sent, types.JSONRPCNotification) and sent.method == "notifications/cancelled":
            self._close((sent.params or {}).get("requestId"))
        return sent

    def _close(self, identity: Any) -> None:
        """This request has its answer, or will have none; what a client names may be no id at all."""
        if isinstance(identity, int | str):
            self._open.discard(identity)
            self._answered.set()

    async def _settle(self) -> None:
        """The input has ended; who piped it in reads on."""
        with anyio.move_on_after(self._patience):
            while self._open:
                self._answered.clear()
                await self._answered.wait()

    async def _write(self, to_client: Receiving, scope: anyio.CancelScope) -> None:
        async for sent in to_client:
            answer = sent.message
            try:
                await self._wires.write(encoded(answer.model_dump(by_alias=True, exclude_unset=True)))
            except OSError:
                return scope.cancel()  # the client has gone without a word
            if isinstance(answer, types.JSONRPCResponse | types.JSONRPCError):
                self._close(answer.id)
        return None


async def numbered(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """A request id for the log, as the door of HTTP gives one."""
    token = logs.request_id.set(os.urandom(8).hex())
    try:
        return await call_next(ctx)
    finally:
        logs.request_id.reset(token)


async def converse(server: Server[Any], wires: Wires, patience: float) -> None:
    """Answers one client until it closes its end; `patience` is for what is unanswered then, in seconds."""
    server.middleware.append(numbered)
    await Conversation(wires, patience).hold(server)
