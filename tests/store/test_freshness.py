"""Read-your-writes across processes: whoever follows a space's changes misses nothing, whatever happens meanwhile.

Another process and this one write, delete, purge and renew epochs in the same spaces at the same
time; after each step the reader's mirror must equal the truth of the snapshot it read.
"""

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from memex.errors import NotFound
from memex.metrics import Metrics
from memex.model import IndexRow, Scope, Space, SpaceState
from memex.settings import Database
from memex.store.pool import Pool
from memex.store.reads import Reads
from memex.store.writes import Writes
from tests.oracles.copying import everything
from tests.store.making import a_write

ROOT = Path(__file__).parents[2]
SPACES = [Space("default", f"user-{n}") for n in range(3)]
AGENTS = ("a", "b")
STEPS = 5_000


class Follower:
    """A mirror of each space, kept up by changes alone, as a resident index is."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.states: dict[Space, SpaceState | None] = dict.fromkeys(SPACES)
        self.mirrors: dict[Space, dict[bytes, IndexRow]] = {space: {} for space in SPACES}
        self.reloads = self.deltas = 0

    async def follow(self, space: Space) -> None:
        """Catch up; the mirror must be what the snapshot holds."""
        mirror = self.mirrors[space]
        async with self.reads.changes(space, self.states[space]) as changes:
            truth = await everything(changes)
            if changes.reload:
                mirror.clear()
                mirror.update(truth)
            mirror.update({row.id: row for row in changes.rows})
            for gone in changes.removed:
                mirror.pop(gone, None)
            self.reloads += changes.reload
            self.deltas += bool(changes.rows or changes.removed)
            self.states[space] = changes.state
        assert mirror == truth


class Actor:
    """Changes the spaces at random."""

    def __init__(self, pool: Pool, writes: Writes, seed: int) -> None:
        self.pool, self.writes = pool, writes
        self.random = random.Random(seed)  # noqa: S311 - repeatable is what counts
        self.known: list[tuple[Space, str, UUID]] = []

    async def act(self) -> None:
        """One change of any space."""
        space = self.random.choice(SPACES)
        kind = self.random.choices(("write", "delete", "purge", "epoch"), (48, 48, 3, 1))[0]
        if kind == "write":
            agent = self.random.choice(AGENTS)
            memory = (await self.writes.write(a_write(str(self.random.random()), space=space, agent_id=agent))).memory
            self.known.append((space, agent, UUID(memory.id)))
        elif kind == "delete" and self.known:
            space, agent, memory_id = self.known.pop(self.random.randrange(len(self.known)))
            await self.writes.delete(Scope("default", agent), memory_id, space.user_id)
        elif kind == "purge":
            await self.run("SELECT memex.memex_purge($1, clock_timestamp())", space)
        elif kind == "epoch":
            await self.run("UPDATE memex.spaces SET epoch = epoch + 1 WHERE space_key = $1", space)

    async def run(self, statement: str, space: Space) -> None:
        async def section(connection: psycopg.AsyncConnection) -> None:
            await connection.execute(statement.encode(), [space.key])

        await self.pool.run(section)


@contextmanager
def another_process(conninfo: str) -> Iterator[None]:
    """Changes the same spaces until it is over; it has begun when this yields."""
    command = [sys.executable, "-m", "tests.store.acting_process", conninfo]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "begun\n"
        yield
        process.stdin.close()
        done = int(process.stdout.readline())
        assert process.wait() == 0
        assert done > 0


@pytest.mark.timeout(240)
async def test_a_reader_misses_nothing(database: str, pool: Pool, writes: Writes, reads: Reads):
    actor, follower = Actor(pool, writes, 1), Follower(reads)

    async def follow(space: Space) -> None:
        for _ in range(STEPS // len(SPACES) + 1):
            await actor.act()
            await follower.follow(space)

    with another_process(database):
        await asyncio.gather(*[follow(space) for space in SPACES])
    for space in SPACES:
        await follower.follow(space)
    assert follower.reloads > 20
    assert follower.deltas > STEPS / 4


async def test_the_next_read_sees_what_was_acknowledged_elsewhere(
    database: str, pool: Pool, writes: Writes, reads: Reads, settings: Database
):
    follower, metrics = Follower(reads), Metrics()
    other_pool = Pool(database, settings, metrics)
    await other_pool.open()
    others = Writes(other_pool, metrics, 20.0)
    others.start()
    for n in range(50):
        writer, eraser = (writes, others) if n % 2 else (others, writes)
        memory = (await writer.write(a_write(str(n), space=SPACES[0]))).memory
        await follower.follow(SPACES[0])
        assert UUID(memory.id).bytes in follower.mirrors[SPACES[0]]
        await eraser.delete(Scope("default", "agent"), UUID(memory.id), SPACES[0].user_id)
        await follower.follow(SPACES[0])
        assert follower.mirrors[SPACES[0]] == {}
    with pytest.raises(NotFound):
        await others.delete(Scope("default", "agent"), UUID(memory.id), None)
    await others.close()
    await other_pool.close()
