"""Whom a load is for: spaces of 10 to 100,000 memories, and how they get there in seconds.

The shape of the reference's test (200 pairs of agent and user, five memories each) is written over HTTP, as any client
would. Larger spaces would take the embedder minutes, so they are written by memex's own store, into the database of
the running service: the same functions of the database, the same versions, so that the service sees every row.
Only the vectors are made differently: `POOL` sentences are embedded, and each memory is one of them with a number of
its own behind it, so that no text is twice there; its vector is the sentence's plus Gaussian noise of length `NOISE`,
brought back to unit length (a cosine of about 1 / √(1 + NOISE²) = 0.98 to the sentence's).
"""

import asyncio
import random
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from bench.load.answers import hits_of
from bench.load.client import Connection, call
from bench.load.seeding import seed as seed_by_http
from bench.load.sentences import QUERIES, STATEMENT
from bench.load.workload import AGENTS, TEXTS_PER_PAIR, TOP_K, USERS
from bench.services.running import Running
from memex.embedder import Embedder, open_embedder, to_half
from memex.index import TERMS_VERSION, tokenize
from memex.metrics import Metrics
from memex.model import MemoryType, Space, Visibility, content_hash
from memex.service.ids import uuid7
from memex.settings import Database, Embedding
from memex.store import Pool, Text, Write, Writes
from memex.store.embedded.database import conninfo

POOL = 512
NOISE = 0.2
SPACES = 200
MOST_ROWS = 100_000
SMALL = range(10, 200)
"""Rows of nine tenants in ten of a skewed set."""
LARGE = range(200, 10_001)
AT_ONCE = 512
WRITERS = 2
EMBED_SECONDS = 600.0
"""As long as embedding the sentences may take."""


class Rows(StrEnum):
    """How large the spaces are."""

    SHAPE = "5"
    """200 of five rows, as in the reference's test."""
    TEN = "10"
    HUNDRED = "100"
    THOUSAND = "1000"
    TEN_THOUSAND = "10000"
    HUNDRED_THOUSAND = "100000"
    SKEWED = "skewed"
    """180 of 10 to 199 rows, 20 of 200 to 10,000, both evenly in the logarithm."""
    WHALE = "skewed-100000"
    """The same, one of them with 100,000."""


class Tenant(msgspec.Struct, frozen=True):
    """One agent's memories of one user."""

    agent_id: str
    user_id: str
    rows: int


def tenants(rows: Rows) -> list[Tenant]:
    """The tenants of a load: at most 200, at most 100,000 rows where all are of one size."""
    sizes = [TEXTS_PER_PAIR] * SPACES if rows is Rows.SHAPE else sizes_of(rows)
    pairs = [(agent, user) for agent in AGENTS for user in USERS]
    if rows is Rows.SHAPE:
        return [Tenant(*pair, size) for pair, size in zip(pairs, sizes, strict=True)]
    # A user of its own for each: users are what spaces are made of, so a space has exactly these rows.
    return [Tenant(AGENTS[n % len(AGENTS)], f"load-tenant-{n:03}", size) for n, size in enumerate(sizes)]


def sizes_of(rows: Rows) -> list[int]:
    """Rows of each tenant."""
    if rows not in (Rows.SKEWED, Rows.WHALE):
        return [int(rows)] * max(1, min(SPACES, MOST_ROWS // int(rows)))
    chooser = np.random.default_rng(0)
    small = chooser.uniform(np.log(SMALL.start), np.log(SMALL.stop), SPACES * 9 // 10)
    large = chooser.uniform(np.log(LARGE.start), np.log(LARGE.stop), SPACES // 10)
    sizes = [int(size) for size in np.exp(np.concatenate([small, large]))]
    return [*sizes[:-1], MOST_ROWS] if rows is Rows.WHALE else sizes


def busy(tenants: list[Tenant], seed: int) -> Iterator[Tenant]:
    """Endless draws: a tenant asks and writes in proportion to the square root of its rows."""
    chooser = random.Random(seed)
    weights = [tenant.rows**0.5 for tenant in tenants]
    while True:
        yield from chooser.choices(tenants, weights, k=256)


async def seed(running: Running, rows: Rows) -> list[Tenant]:
    """Stores the memories of all tenants and asks each once, since a space is loaded by its first search.

    Ends the run where a service cannot be given that many.
    """
    chosen = tenants(rows)
    if rows is Rows.SHAPE:
        await seed_by_http(running.url)
    elif running.name != "memex":
        raise SystemExit(f"{running.name} can only be seeded over HTTP: --rows {Rows.SHAPE}")
    else:
        await seed_by_store(running.home, chosen)
    connection = await Connection.open(running.url)
    for tenant in chosen:
        body = {"agent_id": tenant.agent_id, "user_id": tenant.user_id, "query": QUERIES[0], "top_k": TOP_K}
        hits_of(body, msgspec.json.encode(await call(connection, "/v1/memories/search", body)))
    await connection.close()
    return chosen


async def seed_by_store(home: Path, chosen: list[Tenant]) -> None:
    """Makes all memories and writes them, the tenants shared among `WRITERS`."""
    metrics = Metrics()
    embedder = open_embedder(Embedding(write_queue_seconds=EMBED_SECONDS), 1, metrics)
    pool = Pool(conninfo(sockets(home)), Database(), metrics)
    try:
        sentences = await embedded(embedder)
        parts = [made(chosen[at::WRITERS], sentences, embedder.card.id, at) for at in range(WRITERS)]
        await asyncio.gather(*(fill(pool, metrics, part) for part in parts))
    finally:
        await pool.close()
        await embedder.close()


async def fill(pool: Pool, metrics: Metrics, memories: Iterator[Write]) -> None:
    """Writes as the service's own store does, a few hundred at once."""
    writes = Writes(pool, metrics, Database().command_timeout)
    writes.start()
    try:
        while some := list(islice(memories, AT_ONCE)):
            await asyncio.gather(*(writes.write(memory) for memory in some))
    finally:
        await writes.close()


def sockets(home: Path) -> Path:
    """The folder of the embedded server's socket: the fifth line of its own file."""
    for file in home.glob("data/**/postmaster.pid"):
        return Path(file.read_text().splitlines()[4])
    raise SystemExit("the service has no PostgreSQL of its own")


async def embedded(embedder: Embedder) -> tuple[list[str], npt.NDArray[np.float32]]:
    """The pool and its vectors, f32[POOL, dimensions]."""
    # From the end of all sentences: the unique texts of a load come from the beginning.
    texts = [STATEMENT.text(STATEMENT.size - 1 - number) for number in range(POOL)]
    found = await asyncio.gather(*(embedder.passages(text) for text in texts))
    return texts, np.stack([vectors[0] for vectors in found])


def made(
    chosen: list[Tenant], sentences: tuple[list[str], npt.NDArray[np.float32]], model_id: str, seed: int = 0
) -> Iterator[Write]:
    """Every memory of every tenant."""
    texts, vectors = sentences
    chooser = np.random.default_rng(seed)
    number = 0
    for tenant in chosen:
        for _ in range(tenant.rows):
            at = int(chooser.integers(len(texts)))
            number += 1
            vector = to_half(disturbed(vectors[at], chooser))
            yield memory(tenant, f"{texts[at]}, note {number}", vector, model_id, chooser)


def disturbed(vector: npt.NDArray[np.float32], chooser: np.random.Generator) -> npt.NDArray[np.float32]:
    """A unit vector near a unit vector."""
    noise = chooser.standard_normal(len(vector), np.float32) * np.float32(NOISE / len(vector) ** 0.5)
    near = vector + noise
    near /= np.linalg.norm(near)
    return near


def memory(tenant: Tenant, content: str, vector: bytes, model_id: str, chooser: np.random.Generator) -> Write:
    """One memory as the service would store it."""
    return Write(
        space=Space("default", tenant.user_id),
        id=uuid7(),
        agent_id=tenant.agent_id,
        text=text(content, vector, model_id),
        importance=round(float(chooser.uniform(0.5, 1.5)), 2),
        memory_type=MemoryType.EPISODIC,
        visibility=Visibility.PRIVATE,
        tags=[],
        metadata={},
        session_id=None,
        source=None,
        external_id=None,
        created_at=None,
        expires_at=None,
        ttl_seconds=None,
    )


def text(content: str, vector: bytes, model_id: str) -> Text:
    """What the service would make of a content."""
    terms = tokenize(content)
    return Text(
        content=content,
        content_hash=content_hash(content),
        terms=terms.ids,
        term_counts=terms.counts,
        terms_version=TERMS_VERSION,
        model_id=model_id,
        vectors=[vector],
    )
