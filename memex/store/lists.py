"""Memories in the order of time, narrowed down by conditions, and how many there are of which kind."""

import msgspec

from memex.model import Memory, Position, Scope, Space
from memex.store import rows, wire
from memex.store.connection import Connection
from memex.store.lookups import seen_by
from memex.store.narrowing import Narrowed, parameters
from memex.store.pool import Pool
from memex.store.queries import load
from memex.store.reads import keys

LISTED = load("listed")
TALLY = load("tally")

TOTAL, CREATED, ID, SHOWN = 0, 1, 2, 3

Tally = dict[str, dict[str, int]]
"""State → type → how many; what there is none of is left out."""


class Paging(msgspec.Struct, frozen=True):
    """Which part of a list."""

    after: Position | None
    """None is its beginning."""
    limit: int
    archived: bool
    """Whether archived memories are in the list."""


class Page(msgspec.Struct, frozen=True):
    """What one statement saw."""

    memories: list[Memory]
    total: int
    """Of the whole list."""
    next: Position | None
    """The place of the last of `memories`, if there are more after it."""


class Lists:
    """Memories in the order of time."""

    def __init__(self, pool: Pool) -> None:
        """Takes a connection for each call."""
        self._pool = pool

    async def page(self, space: Space, scope: Scope, narrowed: Narrowed, paging: Paging) -> Page:
        """A part of the list of what the scope may see and the conditions let through."""
        return await self._pool.run(page, space, scope, narrowed, paging)

    async def tally(self, space: Space, scope: Scope) -> Tally:
        """How many memories the scope may see, of every state, which have not expired."""
        return await self._pool.run(tally, space, scope)


async def page(connection: Connection, space: Space, scope: Scope, narrowed: Narrowed, paging: Paging) -> Page:
    """One more row than asked for says whether there are more."""
    limit, after = paging.limit, paging.after
    whose = (*keys(space), *seen_by(scope), *parameters(narrowed))
    place = (wire.moment(after and after.created_at), wire.Wire(wire.UUID, after and after.id))
    found = await connection.fetch(LISTED, (*whose, wire.boolean(paging.archived), *place, wire.int8(limit + 1)))
    shown = [row for row in found if row[CREATED] is not None][:limit]
    last = shown[-1] if len(found) > limit else None
    return Page(
        memories=[rows.memory(space.user_id, row, SHOWN) for row in shown],
        total=found[0][TOTAL],
        next=None if last is None else Position(last[CREATED], last[ID]),
    )


async def tally(connection: Connection, space: Space, scope: Scope) -> Tally:
    """One row for each state and type."""
    counts: Tally = {}
    for state, kind, number in await connection.fetch(TALLY, (*keys(space), *seen_by(scope))):
        counts.setdefault(state, {})[kind] = number
    return counts
