"""Random memories behind the service, and the same ones as the oracle takes them."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import msgspec
import psycopg

from memex.model import Condition, Hit, IndexRow, MemoryType, Mode, Ranking, Scope, Terms, content_hash
from tests.behaviour.asking import delete, search, store
from tests.fakes import embedding
from tests.oracles import ranking as oracle
from tests.oracles.conditions import hold
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
TAGS = ["test", "testing", "a,b", "茶"]
SESSIONS = ["s", "s2"]
VALUES = [1, 2, 2.0, 3.5, "2", True, None, [2]]
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
            "visibility": choice(["private", "shared"]),
            "tags": self.random.sample(TAGS, self.random.randint(0, 3)),
            "session_id": choice([None, *SESSIONS]),
            "source": choice([None, *SESSIONS]),
            "metadata": {key: choice(VALUES) for key in self.random.sample("xyz", 2)},
        }

    async def remove(self, number: int) -> None:
        for _ in range(number):
            memories = self.rows[self.random.choice(USERS)]
            memory, _ = memories.pop(self.random.randrange(len(memories)))
            await delete(self.rest, memory)

    async def archive(self, conninfo: str, number: int) -> None:
        """Memories that are set aside, before anything of their space was read."""
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            for memories in self.rows.values():
                for at in self.random.sample(range(len(memories)), number):
                    memory, row = memories[at]
                    state = self.random.choice(["archived", "archived", "superseded"])
                    memories[at] = (memory, msgspec.structs.replace(row, state=state))
                    await connection.execute(
                        "UPDATE memex.memories SET state = %s WHERE id = %s", (state, UUID(memory["id"]))
                    )

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
        filters = self.filters()
        return {
            "query": self.sentence(self.random.randint(1, 5)),
            "agent_id": choice(AGENTS),
            "user_id": choice(USERS),
            "top_k": choice([1, 2, 3, 10, 20, 50]),
            # Conditions on metadata are answered at the database's time, not at noon.
            "alpha": 1.0 if "metadata" in filters else choice([0.0, 0.3, 0.7, 1.0]),
            "mode": choice(list(Mode)).value,
            "half_life_days": choice([0.001, 1.0, 30.0, 36_500.0]),
            "importance_weight": choice([0.0, 0.1, 1.0]),
            "min_score": choice([None, None, 0.01234, 0.31234, 5.0]),
            "collapse": choice([True, False]),
            "filters": filters or None,
            "agents": choice([None, "*", ["bob"], ["cleo", "ada", "nobody"]]),
            "include_archived": choice([False, False, True]),
        }

    def filters(self) -> dict[str, Any]:
        """Each condition now and then, several at once seldom."""
        some = self.random.sample
        possible: dict[str, Any] = {
            "types": [kind.value for kind in some(list(MemoryType), self.random.randint(1, 3))],
            "created_after": stamp(self.random.choice(AGES[4:])),
            "created_before": stamp(self.random.choice(AGES[:3])),
            "tags_any": some([*TAGS, "unknown"], self.random.randint(1, 3)),
            "tags_all": some(TAGS, self.random.randint(1, 2)),
            "session_id": self.random.choice(SESSIONS),
            "source": self.random.choice(SESSIONS),
            "metadata": {key: {self.random.choice(["eq", "ne", "gte", "lt"]): 2} for key in some("xyz", 1)},
        }
        return {name: condition for name, condition in possible.items() if self.random.random() < 0.15}

    def expected(self, asked: dict[str, Any]) -> list[tuple[IndexRow, Hit]]:
        """Every row that may be a hit, with its score."""
        memories = self.rows[asked["user_id"]]
        ranked = ranking(asked)
        matching = [row.id for memory, row in memories if hold(memory["metadata"], ranked.metadata)]
        only = b"".join(sorted(matching)) if ranked.metadata else None
        return oracle.score_all([row for _, row in memories], msgspec.structs.replace(ranked, only=only))


def row(memory: dict[str, Any]) -> IndexRow:
    """What the index must hold of a memory, made anew from its answer."""
    counts = sorted(counts_of(memory["content"]).items())
    return IndexRow(
        id=UUID(memory["id"]).bytes,
        agent_id=memory["agent_id"],
        memory_type=memory["memory_type"],
        visibility=memory["visibility"],
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
        scope=Scope("default", asked["agent_id"], None if asked["agents"] == "*" else tuple(asked["agents"] or ())),
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
        include_archived=asked["include_archived"],
        tags_any=filters.get("tags_any"),
        tags_all=filters.get("tags_all"),
        session_id=filters.get("session_id"),
        source=filters.get("source"),
        metadata=tuple(
            Condition(key, operator, operand)
            for key, comparison in filters.get("metadata", {}).items()
            for operator, operand in comparison.items()
        ),
    )
