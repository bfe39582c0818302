"""MCP over HTTP without sessions: one message in, one answer out, so that any process may take any request.

The SDK's kernel serves each request on a connection of its own, as its stateless transport does; what that transport
adds, tasks and streams for answers in many parts, costs several times the kernel, and nothing here answers in parts.
Reading the body, its limits and HTTP's own errors are the REST surface's, which this is mounted in.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memex.mcp.messages import Request, encoded, failed, message, request, wants_answer

VERSION = "mcp-protocol-version"
ONE_WAY = TransportContext(kind="streamable-http", can_send_request=False)

Headers = Iterable[tuple[bytes, bytes]]


class Alone:
    """The SDK's view of one request that the server cannot speak back to but by its answer."""

    transport = ONE_WAY
    can_send_request = False
    message_metadata: MessageMetadata = None

    def __init__(self, request_id: types.RequestId) -> None:
        """`request_id` is the caller's."""
        self.request_id: types.RequestId | None = request_id
        self.cancel_requested = anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Raises NoBackChannelError."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Dropped: there is nowhere to send it."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Dropped likewise."""


class Exchange:
    """Answers bodies of POST /mcp."""

    def __init__(self, server: Server[Any]) -> None:
        """`server` has its tools already."""
        self._server = server

    async def answer(self, headers: Headers, body: bytes) -> tuple[int, bytes]:
        """Status and JSON body; 202 and nothing for a message that wants no answer. A session id is ignored."""
        try:
            sent = message(body)
            if not wants_answer(sent):
                return 202, b""
            asked = request(sent)
        except MCPError as error:
            return status(error.error), failed(None, error.error)
        return await self._served(asked, sent, [(name.decode(), value.decode("latin-1")) for name, value in headers])

    async def _served(self, asked: Request, sent: dict[str, Any], headers: list[tuple[str, str]]) -> tuple[int, bytes]:
        named = dict(headers)
        version = named.get(VERSION, types.DEFAULT_NEGOTIATED_VERSION)
        try:
            revision = version if version in HANDSHAKE_PROTOCOL_VERSIONS else modern(sent, headers, named)
            connection = Connection.from_envelope(revision, None, None)  # no tool asks who its client is
            result = await serve_one(
                self._server, Alone(asked.id), asked.method, asked.params, connection=connection, lifespan_state=None
            )
        except Exception as error:  # noqa: BLE001 - the SDK's own translation, as in its transports
            data = modern_error_data(error)
            # A client of the handshake takes any status but 200 for a broken transport.
            return 200 if version in HANDSHAKE_PROTOCOL_VERSIONS else status(data), failed(asked.id, data)
        return 200, encoded({"jsonrpc": "2.0", "id": asked.id, "result": result})


def modern(sent: dict[str, Any], headers: list[tuple[str, str]], named: dict[str, str]) -> str:
    """The revision that a request without handshake is of. Raises MCPError."""
    if twice := find_duplicated_routing_header(headers):
        raise MCPError(types.HEADER_MISMATCH, f"{twice} header appears more than once")
    verdict = classify_inbound_request(sent, headers=named)
    if isinstance(verdict, InboundLadderRejection):
        raise MCPError(verdict.code, verdict.message, verdict.data)
    return verdict.protocol_version


def status(error: types.ErrorData) -> int:
    """What HTTP says of an error of the protocol."""
    return ERROR_CODE_HTTP_STATUS.get(error.code, 200)
