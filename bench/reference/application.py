"""The HTTP interface, and what a worker holds."""

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

import asyncpg
import msgspec
from fastapi import FastAPI, HTTPException, Request, Response

from bench.reference import storage
from bench.reference.encoding import PASSAGE, QUERY, Encoder, Vector
from bench.reference.instruments import EMBEDDING, OPERATIONS, Counting
from bench.reference.messages import Count, Found, Memory, NewMemory, Search
from bench.reference.ranking import candidates_for, memory, rerank

THREADS = 16
DATABASE, MODEL, WORKERS = "REFERENCE_DATABASE", "REFERENCE_MODEL", "REFERENCE_WORKERS"
"""How the launcher tells its workers."""
NO_LIMIT = 10**9
"""Of requests a minute. They are counted as in the original, but a measurement must not be refused."""


class Encodes(Protocol):
    """The packaged model, or the tests' stand-in."""

    def encode(self, texts: list[str], /) -> list[Vector]:
        """A unit vector for each text."""


class State(msgspec.Struct):
    """What the handlers of one worker share."""

    pool: asyncpg.Pool
    encoder: Encodes
    workers: int


def create() -> FastAPI:
    """What uvicorn calls in each worker."""
    return compose(os.environ[DATABASE], Encoder(Path(os.environ[MODEL])), int(os.environ[WORKERS]))


def compose(dsn: str, encoder: Encodes, workers: int) -> FastAPI:
    """An application that is ready when `workers` of its kind are."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        async with await storage.open_pool(dsn) as pool:
            app.state.shared = State(pool, encoder, workers)
            await storage.register(pool, os.getpid())
            yield

    app = FastAPI(title="A re-creation of an earlier service's request path", lifespan=lifespan)
    app.add_middleware(Counting)
    app.post("/v1/memories", status_code=201)(store)
    app.post("/v1/memories/search")(search)
    app.get("/v1/memories/count")(count)
    app.delete("/v1/memories/{memory_id}", status_code=204)(delete)
    app.get("/health")(health)
    return app


async def store(new: NewMemory, request: Request) -> Memory:
    """Embeds and stores one memory."""
    shared: State = request.app.state.shared
    await admit(shared, new.agent_id, "write")
    vector = await embed(shared, "store", PASSAGE + new.content)
    stored = memory(await storage.insert(shared.pool, new, vector))
    OPERATIONS.labels("store").inc()
    return stored


async def search(wanted: Search, request: Request) -> Found:
    """Embeds the query, fetches three times as many rows as are wanted and ranks them again."""
    shared: State = request.app.state.shared
    await admit(shared, wanted.agent_id, "search")
    vector = await embed(shared, "search", QUERY + wanted.query)
    rows = await storage.nearest(shared.pool, wanted, vector, candidates_for(wanted.top_k))
    results = rerank(rows, wanted.alpha, wanted.top_k, datetime.now(UTC))
    OPERATIONS.labels("search").inc()
    return Found(results=results, query=wanted.query, total=len(results))


async def count(agent_id: str, user_id: str, request: Request) -> Count:
    """How many memories a user has."""
    shared: State = request.app.state.shared
    return Count(agent_id=agent_id, user_id=user_id, count=await storage.count(shared.pool, agent_id, user_id))


async def delete(memory_id: UUID, agent_id: str, request: Request) -> Response:
    """Removes one memory of the agent, whoever the user is."""
    shared: State = request.app.state.shared
    if not await storage.delete(shared.pool, memory_id, agent_id):
        raise HTTPException(404, "not found")
    OPERATIONS.labels("delete").inc()
    return Response(status_code=204)


async def health(request: Request, response: Response) -> dict[str, str]:
    """503 until every worker has loaded its model; not as in the original, but no run may start before."""
    shared: State = request.app.state.shared
    ready = await storage.started_workers(shared.pool) >= shared.workers
    response.status_code = 200 if ready else 503
    return {"status": "ok" if ready else "starting"}


async def admit(shared: State, agent: str, operation: str) -> None:
    """Counts the request in the database."""
    if await storage.take(shared.pool, agent, operation) > NO_LIMIT:
        raise HTTPException(429, "rate limit exceeded", {"Retry-After": "60"})


async def embed(shared: State, operation: str, text: str) -> Vector:
    """A batch of one, in a thread of the pool."""
    with EMBEDDING.labels(operation).time():
        (vector,) = await asyncio.to_thread(shared.encoder.encode, [text])
    return vector
