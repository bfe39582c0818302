"""Whether the service can answer."""

import asyncio

import msgspec

from memex import __version__
from memex.errors import MemexError
from memex.store import Reads, Standing

PROBE_SECONDS = 2.0
"""Probes give up soon, so a database that does not answer is said to be down before they do."""


class HealthReport(msgspec.Struct, frozen=True):
    """Whether the service and its database work."""

    status: str
    """`ok` or `degraded`."""
    db: str
    """`ok` or `error`."""
    version: str
    """Of memex."""


class Health:
    """Asks the store, in bounded time. The model is loaded before a worker takes its first request."""

    def __init__(self, reads: Reads, model_id: str) -> None:
        """`reads` is the store that requests use, `model_id` the model that they are embedded with."""
        self._reads = reads
        self._model_id = model_id

    async def check(self) -> HealthReport:
        """Never raises: a store that does not answer is a degraded service."""
        answered = await self._standing() is not None
        return HealthReport(
            status="ok" if answered else "degraded", db="ok" if answered else "error", version=__version__
        )

    async def ready(self) -> dict[str, bool]:
        """What must be true to take requests: the store answers, its schema and its model are still ours."""
        standing = await self._standing()
        return {
            "store": standing is not None,
            "schema": standing is not None and standing.schema_known,
            "model": standing is not None and standing.model_id == self._model_id,
        }

    async def _standing(self) -> Standing | None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                return await self._reads.standing()
        except (MemexError, TimeoutError):
            return None
