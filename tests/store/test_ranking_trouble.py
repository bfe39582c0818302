"""Rankings by PostgreSQL that take too long, are too many, or whose callers leave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from memex.errors import Overloaded, StoreUnavailable
from memex.metrics import Metrics
from memex.model import Space
from memex.settings import Database
from memex.store.models import Models
from memex.store.pool import Pool
from memex.store.ranking import Ranked, Rankings
from memex.store.reads import Reads
from tests.fixtures.waiting import until
from tests.store.making import MODEL, SCOPE
from tests.store.planting import plant
from tests.unit.index.rows import row, search

SPACE = Space("default", "ana")


@asynccontextmanager
async def rankings(database: str, command_timeout: float) -> AsyncIterator[tuple[Rankings, Pool]]:
    """Over a space of one memory, with room for one ranking."""
    made = Database(min_pool_size=1, max_pool_size=2, pool_timeout=0.1, command_timeout=command_timeout)
    pool = Pool(database, made, Metrics())
    await pool.open()
    await Models(pool).register(MODEL)
    with psycopg.connect(database) as connection:
        connection.execute("SET search_path = public")
        plant(connection, SPACE, [row(1)])
    yield Rankings(pool, made), pool
    await pool.close()


@asynccontextmanager
async def held(database: str) -> AsyncIterator[None]:
    """Nobody can read a memory in the block."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE memex.memories IN ACCESS EXCLUSIVE MODE")
        yield


def ranking(of: Rankings) -> asyncio.Task[Ranked]:
    return asyncio.create_task(of.best(SPACE, search(), MODEL.id))


async def waiting(database: str) -> None:
    """Until a statement waits for the lock."""
    asked = "SELECT FROM pg_locks WHERE relation = 'memex.memories'::regclass AND NOT granted"
    with psycopg.connect(database, autocommit=True) as connection:
        await asyncio.to_thread(until, lambda: connection.execute(asked).rowcount)


async def test_one_that_takes_too_long_is_given_up(database: str):
    async with rankings(database, command_timeout=0.5) as (slow, _):
        async with held(database):
            with pytest.raises(StoreUnavailable):
                await ranking(slow)
        assert len((await ranking(slow)).found) == 1


async def test_of_too_many_one_is_refused_and_others_have_connections(database: str):
    async with rankings(database, command_timeout=20.0) as (slow, pool):
        async with held(database):
            first = ranking(slow)
            await waiting(database)
            with pytest.raises(Overloaded):
                await ranking(slow)
            assert (await Reads(pool).standing()).model_id == MODEL.id
        assert len((await first).found) == 1
        assert len((await ranking(slow)).found) == 1


async def test_one_whose_caller_left_keeps_its_place_to_its_end(database: str):
    async with rankings(database, command_timeout=20.0) as (slow, pool):
        async with held(database):
            left = ranking(slow)
            await waiting(database)
            left.cancel()
            with pytest.raises(Overloaded):
                await ranking(slow)
        await asyncio.to_thread(until, lambda: not slow._places.locked())
        assert len((await ranking(slow)).found) == 1
        assert (await Reads(pool).hits(SPACE, SCOPE, [])).state is not None


async def test_one_who_leaves_while_waiting_takes_no_place(database: str):
    async with rankings(database, command_timeout=20.0) as (slow, _):
        async with held(database):
            first = ranking(slow)
            await waiting(database)
            second = ranking(slow)
            await asyncio.sleep(0)
            second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert len((await ranking(slow)).found) == 1
