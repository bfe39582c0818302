"""Tool calls in process, by the official client, on both kinds of revision."""

from typing import Any

from mcp import Client
from mcp.server import Server

from tests.fixtures.agents import CURRENT, Agent, Answer

ANA = {"agent_id": "assistant", "user_id": "ana"}


async def call(server: Server[Any], name: str, arguments: dict[str, Any], mode: str = CURRENT) -> Answer:
    async with Client(server, mode=mode) as client:
        return await Agent(client).call(name, arguments)
