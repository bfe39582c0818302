"""The store's objects on a database of the test's own."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from memex.metrics import Metrics
from memex.settings import Database
from memex.store.models import Models
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.store.making import MODEL


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def settings() -> Database:
    return Database(min_pool_size=1, max_pool_size=3, command_timeout=20.0, pool_timeout=10.0)


@pytest.fixture
async def pool(database: str, settings: Database, metrics: Metrics) -> AsyncIterator[Pool]:
    pool = Pool(database, settings, metrics)
    await pool.open()
    await Models(pool).register(MODEL)
    yield pool
    await pool.close()


@pytest.fixture
async def writes(pool: Pool, metrics: Metrics, settings: Database) -> AsyncIterator[Writes]:
    writes = Writes(pool, metrics, settings.command_timeout)
    writes.start()
    yield writes
    await writes.close()


@pytest.fixture
def reads(pool: Pool) -> Reads:
    return Reads(pool)


@pytest.fixture
async def gate(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """Another session, for holding a space's row or looking at the tables."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection
