"""Another session, that holds a space's row: who writes into the space waits for it, and those after it gather."""

import psycopg

from memex.model import Space
from tests.store.making import SPACE


async def hold(gate: psycopg.AsyncConnection, space: Space = SPACE) -> None:
    """Take the row of a space, so that whoever writes into it waits; COMMIT lets go."""
    await gate.execute("BEGIN")
    await gate.execute("SELECT 1 FROM memex.spaces WHERE space_key = %s FOR UPDATE", [space.key])


async def someone_waits(gate: psycopg.AsyncConnection) -> int:
    """The pid of the backend that waits for a lock; returns only when there is one."""
    query = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    row = None
    while row is None:
        row = await (await gate.execute(query)).fetchone()
    return int(row[0])
