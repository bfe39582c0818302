"""The database of a data directory while somebody uses it."""

from collections.abc import Iterator
from contextlib import contextmanager

from memex.settings import Settings
from memex.store.embedded import EmbeddedServer, Limits

# For migrations, `memex check`, people with psql, and another memex on the same data directory.
SPARE_CONNECTIONS = 20


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The connection string of the external PostgreSQL, or of the embedded one while it runs."""
    if settings.database.url:
        yield settings.database.url
        return
    server = server_of(settings)
    try:
        yield server.start()
    finally:
        server.stop()


def server_of(settings: Settings) -> EmbeddedServer:
    """The embedded server of the data directory, with room for every worker's pool."""
    needed = settings.server.workers * settings.database.max_pool_size + SPARE_CONNECTIONS
    return EmbeddedServer(settings.home, Limits(connections=max(Limits().connections, needed)))
