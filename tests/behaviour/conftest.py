"""The whole service over a real PostgreSQL, with a stand-in for the model, called in process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from memex.app.preparation import register
from memex.app.worker import compose
from memex.embedder import Embedder
from memex.metrics import Metrics
from memex.service import Share
from memex.settings import Database, Limits, Settings
from memex.store import StoredModel
from tests.fixtures.encoder import embedder, encoder

__all__ = ["embedder", "encoder"]


@asynccontextmanager
async def alive(app: Any) -> AsyncIterator[None]:
    """Runs the application's lifespan around the block."""
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, inbox.get, outbox.put))
    inbox.put_nowait({"type": "lifespan.startup"})
    assert (await outbox.get())["type"] == "lifespan.startup.complete"
    yield
    inbox.put_nowait({"type": "lifespan.shutdown"})
    assert (await outbox.get())["type"] == "lifespan.shutdown.complete"
    await life


@pytest.fixture
def limits() -> Limits:
    """Off; tests of the limits override it."""
    return Limits(writes_per_minute=0, searches_per_minute=0)


@pytest.fixture
async def rest(database: str, embedder: Embedder, limits: Limits) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a running service without memories."""
    settings = Settings(home=Path("unused"), database=Database(url=database), limits=limits)
    card = embedder.card
    await register(database, settings, StoredModel(card.id, card.revision, card.dimensions))
    app = compose(settings, embedder, Metrics(), Share())
    async with (
        alive(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8000", timeout=30) as client,
    ):
        yield client
