"""One worker process: everything is constructed here, once, and opened and closed with the ASGI lifespan."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from memex.api import create_api
from memex.api.surface import address as url
from memex.app import environment, places, signals
from memex.app.lifespan import Lifespan
from memex.app.orphans import follow_parent
from memex.embedder import Embedder, open_embedder
from memex.errors import MemexError, Unavailable
from memex.index import Ranker, Residency
from memex.logs import configure
from memex.metrics import Metrics
from memex.service import Health, Limiter, Memories, Passages, Questions, Search, Services, Share, Unindexed, Upkeep
from memex.settings import Server, Settings
from memex.store import Pool, Rankings, Reads, Tombstones, Writes

log = logging.getLogger("memex")

LAG_INTERVAL = 1.0


def create_app() -> Any:
    """The ASGI application that Granian serves in each worker."""
    settings = environment.read()
    configure("debug" if settings.app.debug else settings.log.level, settings.log.format)
    signals.hold()
    follow_parent()
    shared = environment.shared_directory()
    metrics = Metrics(shared)
    embedder = ready_embedder(settings, metrics)
    share = places.claim(shared, settings.server.workers)
    return compose(settings, embedder, metrics, share, partial(started, settings.server, share))


def ready_embedder(settings: Settings, metrics: Metrics) -> Embedder:
    """The embedder; this process ends with one line in the log where there can be none."""
    try:
        return open_embedder(settings.embedding, settings.server.workers, metrics)
    except MemexError as error:
        log.error("this worker cannot serve: %s", error.message)  # noqa: TRY400 (one line, no trace)
        sys.exit(1)


def started(server: Server, share: Share) -> None:
    """Tells people where to look."""
    signals.stop_once()
    who = f"worker {share.index + 1} of {share.workers} is " if share.workers > 1 else ""
    log.info("%sready on %s, see /docs there", who, url(server))


def compose(
    settings: Settings,
    embedder: Embedder,
    metrics: Metrics,
    share: Share,
    started: Callable[[], None] = lambda: None,
) -> Any:
    """The application for `settings`; `database.url` says where the store is."""
    pool = Pool(settings.database.url, settings.database, metrics)
    writes, reads = Writes(pool, metrics, settings.database.command_timeout), Reads(pool)
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
    services = Services(
        memories=Memories(writes, reads, passages, limiter, metrics),
        search=Search(questions, reads, residency, unindexed, limiter, metrics),
        limiter=limiter,
        health=Health(reads, embedder.card.id),
    )
    api = create_api(settings, services, metrics)
    upkeep = Upkeep(Tombstones(pool), settings.upkeep, metrics)
    return Lifespan(api, partial(running, pool, writes, upkeep, embedder, executor, metrics), started)


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
