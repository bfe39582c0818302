"""Random memories behind the service, and the same ones as the oracle takes them."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import psycopg

from memex.model import Hit, IndexRow, MemoryType, Mode, Ranking, Scope, Terms, content_hash
from tests.behaviour.asking import delete, search, store
from tests.fakes import embedding
from tests.oracles import ranking as oracle
from tests.oracles.terms import counts_of

# Every search of these tests is at this moment.
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Words that the stemmer leaves alone.
WORDS = ["tea", "milk", "harbour", "cello", "red", "42", "moon", "wolf", "paper", "小明", "編程", "ชา", "kraków"]
AGES = [
    timedelta(days=-3000),
    timedelta(days=-1),
    timedelta(0),
    timedelta(seconds=1),
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=30),
    timedelta(days=31),
    timedelta(days=4000),
    timedelta(days=700_000),
]
AGENTS = ("ada", "bob", "cleo")
USERS = ("ana", "ben")


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def stamp(age: timedelta) -> str:
    return (NOW - age).isoformat()


class World:
    """Random memories behind the service, and the same ones as the oracle takes them."""

    def __init__(self, rest: httpx.AsyncClient, seed: int) -> None:
        self.rest = rest
        self.random = random.Random(seed)  # noqa: S311 - repeatable is what counts
        self.rows: dict[str, list[tuple[dict[str, Any], IndexRow]]] = {user: [] for user in USERS}

    def sentence(self, words: int) -> str:
        return " ".join(self.random.choices(WORDS, k=words))

    async def add(self, number: int) -> None:
        """Memories written at once; about one in three repeats a text."""
        pool = [self.sentence(self.random.randint(1, 12)) for _ in range(number * 2 // 3 + 1)]
        written = await asyncio.gather(*[store(self.rest, **self.memory(pool)) for _ in range(number)])
        for memory in written:
            self.rows[memory["user_id"]].append((memory, row(memory)))

    def memory(self, pool: Sequence[str]) -> dict[str, Any]:
        choice = self.random.choice
        return {
            "content": choice(pool),
            "agent_id": choice(AGENTS),
            "user_id": choice(USERS),
            "importance": choice([0.0, 0.5, 1.0, 1.0, 1.37, 2.0]),
            "memory_type": choice(list(MemoryType)).value,
            "created_at": stamp(choice(AGES) + timedelta(minutes=self.random.randint(0, 3))),
        }

    async def remove(self, number: int) -> None:
        for _ in range(number):
            memories = self.rows[self.random.choice(USERS)]
            memory, _ = memories.pop(self.random.randrange(len(memories)))
            await delete(self.rest, memory)

    async def expire(self, conninfo: str, number: int) -> None:
        """Memories whose time is over, before anything of their space was read."""
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            for _ in range(number):
                memories = self.rows[self.random.choice(USERS)]
                memory, _ = memories.pop(self.random.randrange(len(memories)))
                await connection.execute(
                    "UPDATE memex.memories SET expires_at = %s WHERE id = %s",
                    (NOW - self.random.choice([timedelta(0), timedelta(days=9)]), UUID(memory["id"])),
                )

    async def settle(self) -> None:
        """Lets the service read what changed: a search that finds changes is at the database's time, not at noon."""
        for user in USERS:
            await search(self.rest, "tea", user_id=user, agent_id="ada")

    def question(self) -> dict[str, Any]:
        choice = self.random.choice
        filters: dict[str, Any] = {}
        if self.random.random() < 0.3:
            filters["types"] = [kind.value for kind in self.random.sample(list(MemoryType), self.random.randint(1, 3))]
        if self.random.random() < 0.2:
            filters["created_after"] = stamp(choice(AGES[4:]))
        if self.random.random() < 0.2:
            filters["created_before"] = stamp(choice(AGES[:3]))
        return {
            "query": self.sentence(self.random.randint(1, 5)),
            "agent_id": choice(AGENTS),
            "user_id": choice(USERS),
            "top_k": choice([1, 2, 3, 10, 20, 50]),
            "alpha": choice([0.0, 0.3, 0.7, 1.0]),
            "mode": choice(list(Mode)).value,
            "half_life_days": choice([0.001, 1.0, 30.0, 36_500.0]),
            "importance_weight": choice([0.0, 0.1, 1.0]),
            "min_score": choice([None, None, 0.01234, 0.31234, 5.0]),
            "collapse": choice([True, False]),
            "filters": filters or None,
        }

    def expected(self, asked: dict[str, Any]) -> list[tuple[IndexRow, Hit]]:
        return oracle.score_all([row for _, row in self.rows[asked["user_id"]]], ranking(asked))


def row(memory: dict[str, Any]) -> IndexRow:
    """What the index must hold of a memory, made anew from its answer."""
    counts = sorted(counts_of(memory["content"]).items())
    return IndexRow(
        id=UUID(memory["id"]).bytes,
        agent_id=memory["agent_id"],
        memory_type=memory["memory_type"],
        visibility="private",
        state="active",
        tags=memory["tags"],
        session_id=memory["session_id"],
        source=memory["source"],
        content_hash=content_hash(memory["content"]),
        importance=memory["importance"],
        created_at=micros(datetime.fromisoformat(memory["created_at"])),
        expires_at=None,
        terms=[term for term, _ in counts],
        term_counts=[times for _, times in counts],
        vectors=[embedding(memory["content"]).astype("<f2").tobytes()],
    )


def ranking(asked: dict[str, Any]) -> Ranking:
    """The question as the oracle takes it."""
    counts, filters = sorted(counts_of(asked["query"]).items()), asked["filters"] or {}
    after, before = filters.get("created_after"), filters.get("created_before")
    return Ranking(
        scope=Scope("default", asked["agent_id"]),
        mode=Mode(asked["mode"]),
        vector=embedding(asked["query"]),
        terms=Terms(ids=[term for term, _ in counts], counts=[times for _, times in counts]),
        k=asked["top_k"],
        alpha=asked["alpha"],
        half_life_days=asked["half_life_days"],
        importance_weight=asked["importance_weight"],
        floor=0.0,
        ceiling=1.0,
        min_score=asked["min_score"],
        types=tuple(MemoryType(kind) for kind in filters["types"]) if "types" in filters else None,
        created_after=after and micros(datetime.fromisoformat(after)),
        created_before=before and micros(datetime.fromisoformat(before)),
        now=micros(NOW),
        collapse=asked["collapse"],
    )
