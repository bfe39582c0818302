"""Whether the service can answer."""

import msgspec

from memex import __version__
from memex.errors import MemexError
from memex.store import Reads


class HealthReport(msgspec.Struct, frozen=True):
    """In the reference's shape: `status` ok or degraded, `db` ok or error."""

    status: str
    db: str
    version: str


class Health:
    """Asks the store, in bounded time. The model is loaded before a worker takes its first request."""

    def __init__(self, reads: Reads) -> None:
        """`reads` is the store that requests use."""
        self._reads = reads

    async def check(self) -> HealthReport:
        """Never raises: a store that does not answer is a degraded service."""
        reachable = await self._reachable()
        return HealthReport(
            status="ok" if reachable else "degraded", db="ok" if reachable else "error", version=__version__
        )

    async def ready(self) -> dict[str, bool]:
        """What must be true to take requests. Schema and model were checked before this process began to serve."""
        return {"store": await self._reachable(), "schema": True, "model": True}

    async def _reachable(self) -> bool:
        try:
            await self._reads.ping()
        except MemexError:
            return False
        return True
