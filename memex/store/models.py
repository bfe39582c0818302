"""Which model the stored vectors are of."""

import msgspec

from memex.errors import StoreFault
from memex.store import wire
from memex.store.connection import Connection
from memex.store.pool import Pool
from memex.store.queries import load

MODEL = load("model")
REGISTER = load("register")


class StoredModel(msgspec.Struct, frozen=True):
    """A model as the database knows it. `revision` changes with any byte of the weights."""

    id: str
    revision: str
    dimensions: int


class Models:
    """The table `models`."""

    def __init__(self, pool: Pool) -> None:
        """Takes a connection for each call."""
        self._pool = pool

    async def stored(self) -> StoredModel | None:
        """The current model, None in a database that never had one."""
        return await self._pool.run(current)

    async def register(self, model: StoredModel) -> StoredModel:
        """Make `model` the current one if there is none. Returns the current one, whoever came first."""
        return await self._pool.run(first, model)


async def current(connection: Connection) -> StoredModel | None:
    """The current model."""
    row = await (await connection.execute(MODEL, binary=True)).fetchone()
    return StoredModel(*row) if row else None


async def first(connection: Connection, model: StoredModel) -> StoredModel:
    """Insert, then look: the second statement sees what the first one may have waited for."""
    await connection.execute(REGISTER, (wire.text(model.id), wire.text(model.revision), wire.int4(model.dimensions)))
    found = await current(connection)
    if found is None:
        raise StoreFault
    return found
