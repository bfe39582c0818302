"""What is kept of deleted memories, so that resident indexes learn of them: forgotten once it is old."""

from memex.store import wire
from memex.store.connection import Connection
from memex.store.pool import Pool
from memex.store.queries import load

AGED = load("aged")
PURGE = load("purge")
TAKE = load("lock")
LEAVE = load("unlock")

BATCH = 1_000
"""Tombstones to look for at once. A statement takes those of one space, and holds up its writers for milliseconds."""
TURN = int.from_bytes(b"memex up", "big")
"""The advisory lock of whoever purges."""


class Tombstones:
    """Their upkeep."""

    def __init__(self, pool: Pool) -> None:
        """Takes one connection for as long as there is something to do."""
        self._pool = pool

    async def purge(self, seconds: float) -> int | None:
        """Forgets those older than `seconds` and tells how many; None where another process is at it.

        Raises StoreUnavailable, Overloaded or StoreFault; what was done until then is done.
        """
        async with self._pool.connection() as connection:
            if not await self._pool.within(connection, locked):
                return None
            try:
                purged = await self._purge_all(connection, seconds)
                await self._pool.within(connection, unlocked)
            except Exception:
                connection.pgconn.finish()  # and with it the lock, which a connection that is used again would keep
                raise
            return purged

    async def _purge_all(self, connection: Connection, seconds: float) -> int:
        total = 0
        while spaces := await self._pool.within(connection, aged, seconds):
            purged = [await self._pool.within(connection, purge, key, before) for key, before in spaces]
            if not any(purged):
                break
            total += sum(purged)
        return total


async def locked(connection: Connection) -> bool:
    """Whether it is this process's turn."""
    ((taken,),) = await connection.fetch(TAKE, (wire.int8(TURN),))
    return bool(taken)


async def unlocked(connection: Connection) -> None:
    """The turn is over."""
    await connection.fetch(LEAVE, (wire.int8(TURN),))


async def aged(connection: Connection, seconds: float) -> list[tuple[int, int]]:
    """Keys of spaces, and the time in microseconds since 1970 before which their tombstones may go."""
    found = await connection.fetch(AGED, (wire.double(seconds), wire.int8(BATCH)))
    return [(key, before) for key, before in found]


async def purge(connection: Connection, key: int, before: int) -> int:
    """How many of one space went."""
    ((purged,),) = await connection.fetch(PURGE, (wire.int8(key), wire.moment(before)))
    return int(purged)
