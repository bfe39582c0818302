"""Processes over one database are one service: what one has acknowledged is in the next answer of any."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.behaviour.mirror import Mirror
from tests.fixtures.process import Process
from tests.fixtures.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("system")
STEPS = 5_000
CONNECTIONS = 6
ROOM = {"": {}, "for about one space": {"MEMEX_INDEX_MEMORY": "100000"}, "for none": {"MEMEX_INDEX_MEMORY": "1"}}


async def mirrored(serve: Callable[..., Process], home: Path, database: str, steps: int) -> Mirror:
    """Three services, one of them of two workers, through so many steps."""
    workers = ["2", "1", "1"]
    started = [
        # Their logs are not read meanwhile: what fills the pipe would stop them.
        serve(
            at=home.with_name(f"home{n}"),
            MEMEX_DATABASE_URL=database,
            WORKERS=workers[n],
            MEMEX_LOG_LEVEL="error",
            **room,
        )
        for n, room in enumerate(ROOM.values())
    ]
    async with AsyncExitStack() as stack:
        # Several connections to the service of two workers, so that each gets some.
        clients = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=process.ready().url, timeout=PATIENCE))
            for process, worker in zip(started, workers, strict=True)
            for _ in range(CONNECTIONS if worker == "2" else 1)
        ]
        connection = await psycopg.AsyncConnection.connect(database, autocommit=True)
        mirror = Mirror(clients, await stack.enter_async_context(connection), 7)
        for _ in range(steps):
            await mirror.step()
    return mirror


@pytest.mark.timeout(600)
async def test_an_answer_of_any_process_is_what_was_acknowledged_before_it(
    serve: Callable[..., Process], home: Path, database: str
):
    mirror = await mirrored(serve, home, database, STEPS)
    assert all(mirror.done.values())
