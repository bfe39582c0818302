"""What services over one database have acknowledged, beside what they answer, through random steps of all kinds."""

import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import httpx
import psycopg

from memex.model import Space
from tests.behaviour.asking import count, search, store
from tests.behaviour.test_batches import batch

USERS = ("ana", "ben", "cleo")
AGENTS = ("a", "b")
WEIGHTS = {
    "write": 20, "fleeting": 4, "batch": 3, "delete": 14, "remove": 3, "change": 14, "archive": 5, "restore": 5,
    "search": 30, "lookup": 16, "listing": 8, "count": 5, "purge": 3, "epoch": 2,
}  # fmt: skip

Memory = dict[str, Any]


class Mirror:
    """The services' clients, the truth, and the steps."""

    def __init__(self, clients: Sequence[httpx.AsyncClient], database: psycopg.AsyncConnection, seed: int) -> None:
        self.clients = clients
        self.database = database
        self.random = random.Random(seed)  # noqa: S311 - repeatable is what counts
        self.persistence = random.Random(seed)  # noqa: S311 - of its own, so that steps are the same with and without
        self.kept: dict[tuple[str, str], dict[str, Memory]] = {(u, a): {} for u in USERS for a in AGENTS}
        self.gone: list[Memory] = []
        """What must not be found any more: deleted, or as it was before a change."""
        self.archived: list[Memory] = []
        self.done = dict.fromkeys(WEIGHTS, 0)

    @property
    def client(self) -> httpx.AsyncClient:
        """One of the services, at random."""
        return self.random.choice(self.clients)

    def owner(self) -> dict[str, str]:
        user, agent = self.random.choice(list(self.kept))
        return {"user_id": user, "agent_id": agent}

    def of(self, owner: dict[str, str]) -> dict[str, Memory]:
        return self.kept[owner["user_id"], owner["agent_id"]]

    async def step(self) -> None:
        (kind,) = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        self.done[kind] += 1
        await getattr(self, kind)(self.owner())

    async def write(self, owner: dict[str, str], **fields: Any) -> None:
        number = sum(self.done.values())
        memory = await store(self.client, f"swans note{number}", **owner, **fields)
        self.of(owner)[memory["id"]] = memory

    async def fleeting(self, owner: dict[str, str]) -> None:
        """A memory that expires soon, by the database's clock."""
        await self.write(owner, ttl_seconds=self.random.choice([1, 2, 3600]))

    async def batch(self, owner: dict[str, str]) -> None:
        """Several memories at once, of several agents and users, as a list or as lines; some come twice."""
        number = sum(self.done.values())
        owners = [self.owner() for _ in range(self.random.randint(1, 6))]
        items = [who | {"content": f"swans note{number}n{n}"} for n, who in enumerate(owners)]
        twice = [item | {"on_duplicate": "return"} for item in self.random.sample(items, 1)]
        result = await batch(self.client, items + twice, self.random.choice(["list", "lines"]))
        assert (result["stored"], result["duplicate"]) == (len(items), 1)
        for who, item in zip(owners, result["items"], strict=False):
            path, params = f"/v1/memories/{item['id']}", {"agent_id": who["agent_id"]}
            self.of(who)[item["id"]] = (await self.client.get(path, params=params)).json()

    async def remove(self, owner: dict[str, str]) -> None:
        """By ids, some of them another agent's or user's, or by a text."""
        if not (own := self.lasting(owner)):
            return
        others = [memory for kept in self.kept.values() for memory in kept.values() if memory["expires_at"] is None]
        asked = self.random.choice([[own], [own, *self.random.sample(others, min(len(others), 3))]])
        what: Memory = {"content": own["content"]} if len(asked) == 1 else {"ids": [memory["id"] for memory in asked]}
        gone = {memory["id"]: memory for memory in asked if memory.items() >= owner.items()}
        for deleted in (len(gone), 0):
            answer = await self.client.post("/v1/memories/delete", json=owner | what)
            assert (answer.status_code, answer.json()["deleted"]) == (200, deleted)
        for identity in gone:
            del self.of(owner)[identity]
        self.gone += gone.values()

    async def delete(self, owner: dict[str, str]) -> None:
        if not (memory := self.lasting(owner)):
            return
        del self.of(owner)[memory["id"]]
        user = {"user_id": owner["user_id"]} if self.random.random() < 0.5 else {}
        path, params = f"/v1/memories/{memory['id']}", {"agent_id": owner["agent_id"]} | user
        match = {"If-Match": f'"{memory["version"]}"'} if self.random.random() < 0.5 else {}
        assert (await self.client.delete(path, params=params, headers=match)).status_code == 204
        assert (await self.client.delete(path, params=params, headers=match)).status_code == 404
        self.gone.append(memory)

    async def change(self, owner: dict[str, str]) -> None:
        if not (memory := self.lasting(owner)):
            return
        number = sum(self.done.values())
        path, params = f"/v1/memories/{memory['id']}", {"agent_id": owner["agent_id"]}
        match = {"If-Match": f'"{memory["version"]}"'}
        sent = {"content": f"swans note{number}", "importance": 1.0}
        answer = await self.client.patch(path, params=params, json=sent, headers=match)
        assert answer.status_code == 200, answer.text
        assert (await self.client.patch(path, params=params, json=sent, headers=match)).status_code == 412
        assert (await self.client.get(path, params=params)).json() == answer.json()
        self.of(owner)[memory["id"]] = answer.json()
        self.gone.append(memory)

    async def archive(self, owner: dict[str, str]) -> None:
        if memory := self.lasting(owner):
            await self.move(memory, "archive")
            self.archived.append(self.of(owner).pop(memory["id"]))

    async def restore(self, owner: dict[str, str]) -> None:
        if self.archived:
            memory = self.archived.pop(self.random.randrange(len(self.archived)))
            self.of(memory)[memory["id"]] = await self.move(memory, "restore")

    async def move(self, memory: Memory, verb: str) -> Memory:
        path = f"/v1/memories/{memory['id']}/{verb}"
        answer = await self.client.post(path, params={"agent_id": memory["agent_id"]})
        assert answer.status_code == 200, answer.text
        moved: Memory = answer.json()
        return moved

    def lasting(self, owner: dict[str, str]) -> Memory | None:
        """One of the agent's memories that do not expire."""
        lasting = [memory for memory in self.of(owner).values() if memory["expires_at"] is None]
        return self.random.choice(lasting) if lasting else None

    async def search(self, owner: dict[str, str]) -> None:
        """The whole of what an agent knows of a user, newest first; sometimes so often that its answer is kept."""
        mode, client = self.random.choice(["keyword", "semantic", "hybrid"]), self.client
        for _ in range(self.persistence.choice([1, 1, 1, 4])):
            before = await self.clock()
            hits = await search(client, "swans", alpha=0, top_k=50, mode=mode, **owner)
            possible = [contents(alive[:50]) for alive in await self.alive_since(before, owner)]
            assert contents(hits) in possible

    async def lookup(self, owner: dict[str, str]) -> None:
        """One memory by the word that it alone has, and what is gone or archived by the same."""
        asked = {"alpha": 1, "mode": "keyword", "min_score": 1e-6}
        lost = [self.random.choice(memories) for memories in (self.gone, self.archived) if memories]
        for memory in (self.lasting(owner), *lost):
            if memory:
                known = memory not in lost
                word = memory["content"].split()[1]
                who = {name: memory[name] for name in ("user_id", "agent_id")}
                hits = await search(self.client, word, **asked, **who)
                assert [hit["id"] for hit in hits] == [memory["id"]] * known

    async def listing(self, owner: dict[str, str]) -> None:
        """The whole list, a page of each from any of the services."""
        before, listed, cursor, totals = await self.clock(), list[Memory](), dict[str, str](), set[int]()
        while True:
            asked = owner | {"limit": str(self.random.choice([3, 20, 100]))} | cursor
            page = (await self.client.get("/v1/memories", params=asked)).json()
            listed += page["memories"]
            totals.add(page["total"])
            if not page["next_cursor"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        possible = await self.alive_since(before, owner)
        assert {len(alive) for alive in possible} >= totals
        assert len(possible) > 1 or contents(listed) == contents(possible[0])

    async def count(self, owner: dict[str, str]) -> None:
        before = await self.clock()
        counted = await count(self.client, **owner)
        assert counted in [len(alive) for alive in await self.alive_since(before, owner)]

    async def purge(self, owner: dict[str, str]) -> None:
        key = Space("default", owner["user_id"]).key
        await self.database.execute("SELECT memex.memex_purge(%s, clock_timestamp())", (key,))

    async def epoch(self, owner: dict[str, str]) -> None:
        key = Space("default", owner["user_id"]).key
        await self.database.execute("UPDATE memex.spaces SET epoch = epoch + 1 WHERE space_key = %s", (key,))

    async def clock(self) -> datetime:
        """The database's time."""
        found = await (await self.database.execute("SELECT clock_timestamp()")).fetchone()
        assert found is not None
        moment: datetime = found[0]
        return moment

    async def alive_since(self, before: datetime, owner: dict[str, str]) -> list[list[Memory]]:
        """What lived at some moment from `before` to now, newest first: an answer is of one of these."""
        kept = self.of(owner)
        newest = sorted(kept.values(), key=lambda memory: (memory["created_at"], memory["id"]), reverse=True)
        ends = {
            memory["id"]: datetime.fromisoformat(memory["expires_at"] or "9999-12-31T00:00:00Z") for memory in newest
        }
        now = await self.clock()
        for id_ in [id_ for id_, end in ends.items() if end <= before]:
            del kept[id_]
        moments = [before, *(end for end in ends.values() if before < end <= now)]
        return [[memory for memory in newest if ends[memory["id"]] > moment] for moment in moments]


def contents(memories: Sequence[Memory]) -> list[tuple[str, str]]:
    """What is compared."""
    return [(memory["id"], memory["content"]) for memory in memories]
