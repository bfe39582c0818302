"""The whole HTTP surface over services that only note what reached them: for what is HTTP's alone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest

from memex.api import create_api
from memex.api.door import Door
from memex.errors import NotFound, VersionConflict
from memex.metrics import Metrics
from memex.model import (
    BatchResult,
    Context,
    ContextQuery,
    Count,
    History,
    Listing,
    ListQuery,
    Memory,
    MemoryChange,
    ModelStats,
    NewMemory,
    Removal,
    RemovalQuery,
    Scope,
    SearchQuery,
    SearchResult,
    Stats,
    StatsQuery,
    Target,
)
from memex.service import Batched, Changed, HealthReport, Limiter, Removed, Services, Share
from memex.settings import Api, Limits, Server, Settings, UnknownFields

NOW = "2026-01-31T12:00:00.000000Z"
KNOWN = UUID("019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a")


class Stored(msgspec.Struct):
    memory: Memory
    created: bool
    replayed: bool = False


def memory(new: NewMemory) -> Memory:
    return Memory(
        id=str(KNOWN),
        agent_id=new.agent_id,
        user_id=new.user_id,
        content=new.content,
        importance=new.importance,
        memory_type=new.memory_type.value,
        created_at=NOW,
        updated_at=NOW,
        recorded_at=NOW,
        tags=new.tags,
        metadata=new.metadata,
        external_id=new.external_id,
    )


class Backend:
    """What every service does here: note the call, then answer or fail as told."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.calls: list[tuple[Any, ...]] = []
        self.failure: BaseException | None = None
        self.healthy = True
        self.known: set[str] = set()
        self.listing = Listing([], 0, None)
        self.keys: set[str | None] = set()
        self.version = 3
        """Of the one memory that there is."""

    def note(self, *call: Any) -> None:
        self.calls.append(call)
        if self.failure:
            raise self.failure

    async def add(self, scope: Scope, new: NewMemory, key: str | None = None) -> Stored:
        self.limiter.take(scope, "write")
        self.note("add", scope.agent_id, new, *named(key))
        created = new.external_id is None or new.external_id not in self.known
        self.known.add(new.external_id or "")
        return Stored(memory(new), created, self.repeated(key))

    async def delete(self, scope: Scope, target: Target, key: str | None = None) -> bool:
        self.note("delete", scope.agent_id, target.memory_id, target.user_id, *named(key))
        self.found(scope, target)
        return self.repeated(key)

    async def delete_anyones(self, target: Target, key: str | None = None) -> bool:
        return await self.delete(Scope("default", "anyone"), target, key)

    async def change(self, scope: Scope, target: Target, wanted: MemoryChange, key: str | None = None) -> Changed:
        self.limiter.take(scope, "write")
        self.note("change", scope.agent_id, target, wanted, *named(key))
        return Changed(self.found(scope, target), self.repeated(key))

    async def archive(self, scope: Scope, target: Target, key: str | None = None) -> Changed:
        self.limiter.take(scope, "write")
        self.note("archive", scope.agent_id, target, *named(key))
        return Changed(self.found(scope, target), self.repeated(key))

    async def restore(self, scope: Scope, target: Target, key: str | None = None) -> Changed:
        self.limiter.take(scope, "write")
        self.note("restore", scope.agent_id, target, *named(key))
        return Changed(self.found(scope, target), self.repeated(key))

    def repeated(self, key: str | None) -> bool:
        """Whether the key came before."""
        seen = key in self.keys
        self.keys |= {key} - {None}
        return seen

    async def read(self, scope: Scope, memory_id: UUID, user_id: str | None) -> Memory:
        self.note("read", scope, memory_id, user_id)
        return self.found(scope, Target(memory_id, user_id))

    async def history(self, scope: Scope, memory_id: UUID, user_id: str | None, limit: int, below: int) -> History:
        self.note("history", scope, memory_id, user_id, limit, below)
        return History(str(memory_id), [self.found(scope, Target(memory_id, user_id))], 1)

    def found(self, scope: Scope, target: Target) -> Memory:
        if target.memory_id != KNOWN:
            raise NotFound
        if target.versions is not None and self.version not in target.versions:
            raise VersionConflict
        known = memory(NewMemory(agent_id=scope.agent_id, user_id=target.user_id or "ana", content="tea"))
        known.version = self.version
        return known

    async def count(self, scope: Scope, user_id: str) -> Count:
        self.note("count", scope.agent_id, user_id)
        return Count(scope.agent_id, user_id, 3)

    async def run(self, scope: Scope, query: SearchQuery) -> SearchResult:
        self.limiter.take(scope, "search")
        self.note("search", scope.agent_id, query)
        found = memory(NewMemory(agent_id=query.agent_id, user_id=query.user_id, content="tea"))
        found.score = 0.8731
        return SearchResult([found], query.query, 1)

    async def context(self, scope: Scope, query: ContextQuery) -> Context:
        self.limiter.take(scope, "search")
        self.note("context", scope.agent_id, query)
        return Context("Known:\n1. tea", [str(KNOWN)], 5, 1, 0, truncated=False)

    async def check(self) -> HealthReport:
        self.note("check")
        return HealthReport("ok" if self.healthy else "degraded", "ok" if self.healthy else "error", "0.0.0")

    async def ready(self) -> dict[str, bool]:
        return {"store": self.healthy, "model": True}


class Packing:
    """Makes a text of the one memory that there is."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def run(self, scope: Scope, query: ContextQuery) -> Context:
        return await self.backend.context(scope, query)


class Figures:
    """Counts nothing."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def run(self, scope: Scope | None, query: StatsQuery) -> Stats:
        self.backend.note("stats", scope, query)
        return Stats("0.0.0", ModelStats("fake", 4, 8, "native"), None, None)


MANY = ("batches", "listings", "removals")


class Many:
    """The services of many memories, which answer that there is nothing."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def page(self, scope: Scope, query: ListQuery) -> Listing:
        self.backend.note("page", scope, query)
        return self.backend.listing

    async def run(
        self, asked: Any, query: RemovalQuery | str | None = None, key: str | None = None
    ) -> Removed | Batched:
        if not isinstance(query, RemovalQuery):
            return Batched(BatchResult(len([item async for item in asked]), 0, 0, 0, []), replayed=False)
        self.backend.note("remove", asked, query, *named(key))
        return Removed(Removal(0, query.dry_run), self.backend.repeated(key))


def named(key: str | None) -> tuple[str, ...]:
    """The key, where there is one."""
    return () if key is None else (key,)


class Surface(msgspec.Struct):
    """The application, what stands behind it, and a client in front."""

    app: Door
    backend: Backend
    metrics: Metrics
    client: httpx.AsyncClient


def services(backend: Any) -> Services:
    many: Any = Many(backend)
    alone = dict.fromkeys(("memories", "search", "health"), backend)
    own: dict[str, Any] = {"limiter": backend.limiter, "statistics": Figures(backend), "contexts": Packing(backend)}
    return Services(**own, **alone, **dict.fromkeys(MANY, many))


async def silent(_headers: Any, _body: bytes) -> tuple[int, bytes]:
    """An MCP surface that says nothing but that it is there."""
    return 200, b"{}"


def surface(server: Server, api: Api, limits: Limits) -> Surface:
    metrics = Metrics()
    backend: Any = Backend(Limiter(limits, Share()))
    app: Any = create_api(Settings(home=Path("unused"), server=server, api=api), services(backend), metrics, silent)
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    return Surface(app, backend, metrics, httpx.AsyncClient(transport=transport, base_url="http://localhost:8000"))


@pytest.fixture
def server() -> Server:
    """Tests with other settings override it."""
    return Server(max_body_bytes=20_000)


@pytest.fixture
def api_settings() -> Api:
    return Api(unknown_fields=UnknownFields.REFUSE)


@pytest.fixture
def limits() -> Limits:
    return Limits(writes_per_minute=0, searches_per_minute=0)


@pytest.fixture
async def http(server: Server, api_settings: Api, limits: Limits) -> AsyncIterator[Surface]:
    made = surface(server, api_settings, limits)
    async with made.client:
        yield made
