"""How the items of a batch are read."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memex.api.batch import TURN_BYTES, listed, streamed
from memex.api.bodies import Reader
from memex.model import BatchItem, NewMemory

LARGE: dict[str, Any] = {"a": [{}] * 5_000}
ITEMS = [json.dumps({"agent_id": "a", "user_id": "u", "content": "x", "metadata": LARGE}).encode()] * 20


def read(form: str) -> AsyncIterator[BatchItem]:
    """The items, all of which are there."""
    if form == "list":
        return listed(ITEMS, Reader(NewMemory))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"\n".join(ITEMS), "more_body": False}

    return streamed(receive, Reader(NewMemory))


@pytest.mark.parametrize("form", ["list", "stream"])
async def test_others_have_their_turns_while_large_items_are_read(form: str):
    """Who sends many at once, or through many connections, must not keep a search waiting until all are read."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(other())
    found = [item.index async for item in read(form)]
    waiting.cancel()
    assert found == list(range(len(ITEMS)))
    assert turns >= sum(map(len, ITEMS)) // (2 * TURN_BYTES)
