"""The ranking by PostgreSQL itself: as exact as the resident index, and slow. Only the answer leaves the database."""

import asyncio
from typing import Any

import msgspec

from memex.errors import Overloaded
from memex.model import Hit, Memory, Mode, Ranking, Space, SpaceState
from memex.settings import Database
from memex.store import narrowing, paths, rows, wire
from memex.store.connection import Connection
from memex.store.lookups import seen_by
from memex.store.pool import Pool
from memex.store.queries import load
from memex.store.reads import keys

RANKED = load("ranked")
KNOWN = load("known")
CLOCK = load("clock")

# The shares of both arms in relevance.
SHARES = {Mode.SEMANTIC: (1.0, 0.0), Mode.KEYWORD: (0.0, 1.0), Mode.HYBRID: (0.5, 0.5)}
NEXT_TO_NOTHING = 1e-250
"""A weight below it is nothing: PostgreSQL refuses a product that underflows."""
PARTS = rows.STATE_COLUMNS
MEMORIES = PARTS + 7


class Ranked(msgspec.Struct, frozen=True):
    """What one statement saw. `state` is None where the space does not exist."""

    state: SpaceState | None
    found: list[tuple[Hit, Memory]]
    """The exact best, best first."""
    clock: int
    """The database's time in microseconds since 1970; 0 without a state."""


class Rankings:
    """Searches that PostgreSQL answers by itself. They take long, so they may have half of the connections."""

    def __init__(self, pool: Pool, settings: Database) -> None:
        """`settings` are those of `pool`."""
        self._pool = pool
        self._places = asyncio.Semaphore(max(1, settings.max_pool_size // 2))
        self._seconds = settings.pool_timeout

    async def best(self, space: Space, ranking: Ranking, model_id: str, as_of: int | None = None) -> Ranked:
        """The answer in one statement; vectors are of the model `model_id`.

        `as_of`, in microseconds since 1970, asks what was known then. Raises Overloaded where others have the places,
        and StoreUnavailable where the space is too large for the command timeout.
        """
        await self._enter()
        task = asyncio.create_task(self._ranked(space, ranking, model_id, as_of))
        task.add_done_callback(seen)
        return await asyncio.shield(task)  # a statement that nobody waits for any more keeps its place to its end

    async def clock(self) -> int:
        """The database's time in microseconds since 1970."""
        return await self._pool.run(clock)

    async def _enter(self) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise Overloaded from error

    async def _ranked(self, space: Space, ranking: Ranking, model_id: str, as_of: int | None) -> Ranked:
        try:
            return await self._pool.run(best, space, ranking, model_id, as_of)
        finally:
            self._places.release()


def seen(task: asyncio.Task[Ranked]) -> None:
    """Takes the error of a ranking whose caller has left."""
    if not task.cancelled():
        task.exception()


async def best(connection: Connection, space: Space, ranking: Ranking, model_id: str, as_of: int | None) -> Ranked:
    """The state and the hits; a space without a hit is one row of nulls."""
    whose = (*keys(space), *seen_by(ranking.scope))
    filters = (*narrowing.parameters(ranking), *paths.parameters(ranking.metadata))
    rest = (wire.text(model_id), *question(ranking), *formula(ranking), *filters)
    if as_of is None:
        found = await connection.fetch(RANKED, (*whose, wire.boolean(ranking.include_archived), *rest))
    else:
        found = await connection.fetch(KNOWN, (*whose, wire.moment(as_of), *rest))
    if not found:
        return Ranked(None, [], 0)
    hits = [hit(space.user_id, row) for row in found if row[MEMORIES]]
    return Ranked(rows.space_state(found[0]), hits, found[0][4])


async def clock(connection: Connection) -> int:
    """One value."""
    ((now,),) = await connection.fetch(CLOCK, ())
    return int(now)


def question(ranking: Ranking) -> tuple[wire.Wire, ...]:
    """The parameters $8 to $11: vector, words, their counts, and how many hits."""
    semantic, keyword = SHARES[ranking.mode]
    terms = ranking.terms
    return (
        wire.reals(ranking.vector if semantic else None),
        wire.integers(terms.ids if keyword else []),
        wire.integers(terms.counts if keyword else []),
        wire.int8(ranking.k),
    )


def formula(ranking: Ranking) -> tuple[wire.Wire, ...]:
    """The parameters $12 to $21 of `parts/ranked.sql`."""
    semantic, keyword = SHARES[ranking.mode]
    return (
        wire.double(weight(ranking.alpha)),
        wire.double(ranking.half_life_days * 86_400),
        wire.double(weight(ranking.importance_weight)),
        wire.double(ranking.floor),
        wire.double(ranking.ceiling),
        wire.double(ranking.min_score),
        wire.moment(ranking.now),
        wire.boolean(ranking.collapse),
        wire.double(semantic),
        wire.double(keyword),
    )


def weight(value: float) -> float:
    """Zero for what no score would show."""
    return value if value > NEXT_TO_NOTHING else 0.0


def hit(user_id: str, row: tuple[Any, ...]) -> tuple[Hit, Memory]:
    """One hit and its memory."""
    score, cosine, lexical, relevance, recency, factor, others = row[PARTS:MEMORIES]
    memory = rows.memory(user_id, row, MEMORIES)
    key = bytes.fromhex(memory.id.replace("-", ""))
    return Hit(key, score, cosine, lexical, relevance, recency, factor, others), memory
