"""Keys of requests that nobody repeats any more."""

from memex.store import wire
from memex.store.connection import Connection
from memex.store.pool import Pool
from memex.store.queries import load

OUTDATED = load("outdated")
LAPSED = load("lapsed")
BATCH = 1_000
"""Keys that go at once: a few milliseconds."""


class Keys:
    """Their upkeep."""

    def __init__(self, pool: Pool) -> None:
        """Takes a connection for each batch."""
        self._pool = pool

    async def purge(self) -> int:
        """Forgets those that were used more than 24 hours ago and tells how many; several processes may do so at once.

        Raises StoreUnavailable, Overloaded or StoreFault; what was done until then is done.
        """
        return sum([await self._purge_all(of) for of in (OUTDATED, LAPSED)])

    async def _purge_all(self, statement: bytes) -> int:
        total = 0
        while purged := await self._pool.run(purge, statement):
            total += purged
        return total


async def purge(connection: Connection, statement: bytes) -> int:
    """How many of one batch went."""
    ((purged,),) = await connection.fetch(statement, (wire.int8(BATCH),))
    return int(purged)
