"""The parts that answer requests, whoever brings these: constructed once in a process, opened and closed together."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec

from memex.embedder import Embedder
from memex.errors import Unavailable
from memex.index import Ranker, Residency
from memex.metrics import Metrics
from memex.service import (
    Batches,
    Contexts,
    Health,
    Limiter,
    Listings,
    Memories,
    Passages,
    Questions,
    Removals,
    Search,
    Services,
    Share,
    Statistics,
    Unindexed,
    Upkeep,
)
from memex.settings import Settings
from memex.store import Keys, Lists, Pool, Rankings, Reads, Tombstones, Writes
from memex.store import Removals as StoredRemovals

log = logging.getLogger("memex")

LAG_INTERVAL = 1.0


class Parts(msgspec.Struct, frozen=True):
    """What a door needs."""

    services: Services
    running: Callable[[], AbstractAsyncContextManager[None]]
    """Open while the services are called."""


def assemble(settings: Settings, embedder: Embedder, metrics: Metrics, share: Share) -> Parts:
    """The parts for `settings`; `database.url` says where the store is."""
    pool = Pool(settings.database.url, settings.database, metrics)
    writes, reads = Writes(pool, metrics, settings.database.command_timeout), Reads(pool)
    lists = Lists(pool)
    limiter = Limiter(settings.limits, share)
    executor = ThreadPoolExecutor(settings.server.thread_pool_size, thread_name_prefix="rank")
    residency = Residency(
        partial(Ranker, embedder.card.dimensions, settings.ranking.isa),
        settings.index.memory,
        executor,
        metrics,
    )
    passages = Passages(embedder, reads if settings.embedding.reuse_stored else None, metrics)
    questions = Questions(embedder, settings.ranking)
    unindexed = Unindexed(questions, Rankings(pool, settings.database), settings.ranking.engine, metrics)
    search = Search(questions, reads, residency, unindexed, limiter, metrics)
    services = Services(
        memories=Memories(writes, reads, passages, limiter, metrics),
        batches=Batches(writes, passages, limiter, metrics),
        listings=Listings(lists),
        removals=Removals(StoredRemovals(pool), writes, metrics),
        search=search,
        contexts=Contexts(search, embedder, metrics),
        statistics=Statistics(lists, embedder, residency, share),
        limiter=limiter,
        health=Health(reads, embedder.card.id),
    )
    upkeep = Upkeep(Tombstones(pool), Keys(pool), settings.upkeep, metrics)
    return Parts(services, partial(running, pool, writes, upkeep, embedder, executor, metrics))


@asynccontextmanager
async def running(
    pool: Pool, writes: Writes, upkeep: Upkeep, embedder: Embedder, executor: ThreadPoolExecutor, metrics: Metrics
) -> AsyncIterator[None]:
    """Open while the application serves. Closing writes out what was accepted, last opened first."""
    async with AsyncExitStack() as stack:
        stack.callback(executor.shutdown)
        await open_pool(pool)
        stack.push_async_callback(pool.close)
        writes.start()
        stack.push_async_callback(writes.close)
        stack.push_async_callback(embedder.close)
        upkeep.start()
        stack.push_async_callback(upkeep.close)
        lag = asyncio.create_task(measure_lag(metrics))
        stack.callback(lag.cancel)
        yield


async def open_pool(pool: Pool) -> None:
    """Goes on without a database: the parent saw it at the start, so it is away for now, and requests get 503."""
    try:
        await pool.open()
    except Unavailable:
        log.warning("the database does not answer; requests are refused until it does")


async def measure_lag(metrics: Metrics) -> None:
    """How late the event loop wakes a task that asked for one second."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_INTERVAL
        await asyncio.sleep(LAG_INTERVAL)
        metrics.loop_lag.set(max(loop.time() - due, 0.0))
