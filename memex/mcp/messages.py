"""JSON-RPC messages as bytes: read so that a fault in one argument is the tool's to name, written as valid JSON."""

import json
from typing import Any

import msgspec
from mcp import types
from mcp.shared.exceptions import MCPError

from memex.reading.faults import Faults
from memex.reading.plain import parsed

Json = dict[str, Any]


class Request(msgspec.Struct, frozen=True):
    """A message that wants an answer."""

    id: int | str
    method: str
    params: Json | None = None


def message(raw: bytes) -> Json:
    """Any message. Raises MCPError for what is none."""
    faults = Faults()
    found = parsed(raw, faults)
    if faults.problems:
        raise MCPError(types.PARSE_ERROR, faults.problems[0].msg)
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise MCPError(types.INVALID_REQUEST, 'A message is one JSON object with "jsonrpc": "2.0"')
    return found


def wants_answer(sent: Json) -> bool:
    """Whether it is a request, or nothing that the protocol knows, which is answered with that."""
    return "id" in sent and not {"result", "error"} & sent.keys()


def request(sent: Json) -> Request:
    """A message with an id and a method. Raises MCPError."""
    try:
        return msgspec.convert(sent, Request)
    except ValueError as error:  # also the codec's, of half a character where no text belongs
        raise MCPError(types.INVALID_REQUEST, "A request has an id, a method and an object of params") from error


def failed(request_id: int | str | None, error: types.ErrorData) -> bytes:
    """The answer that something went wrong; without an id if none could be read."""
    told = error.model_dump(by_alias=True, mode="json", exclude_none=True)
    return encoded({"jsonrpc": "2.0", "id": request_id, "error": told})


def encoded(answer: Json) -> bytes:
    """As JSON; what UTF-8 cannot hold, an unpaired surrogate in an id of the caller's, stays an escape."""
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:
        return json.dumps(answer).encode()
