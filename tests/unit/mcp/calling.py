"""Tool calls in process, by the official client, on both kinds of revision."""

import json
from typing import Any

import msgspec
from mcp import Client
from mcp.server import Server
from mcp.types import CallToolResult, TextContent

MODES = ("2026-07-28", "legacy")
ANA = {"agent_id": "assistant", "user_id": "ana"}


class Answer(msgspec.Struct):
    """What a call came to."""

    text: str
    content: Any
    failed: bool


async def call(server: Server[Any], name: str, arguments: dict[str, Any], mode: str = MODES[0]) -> Answer:
    async with Client(server, mode=mode) as client:
        return answer(await client.call_tool(name, arguments))


def answer(result: CallToolResult) -> Answer:
    """Always one text; the whole is valid JSON."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    json.dumps(result.structured_content, allow_nan=False)
    return Answer(block.text, result.structured_content, result.is_error)
