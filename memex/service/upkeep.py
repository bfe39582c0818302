"""What is done now and then in the background."""

import asyncio
import logging
import random

from memex.errors import MemexError
from memex.metrics import Metrics
from memex.settings import Upkeep as Settings
from memex.store import Keys, Tombstones

log = logging.getLogger(__name__)

SPREAD = 0.5
"""By which part of the interval a pause is shorter or longer: processes that began together do not stay together."""
HOUR = 3_600.0


class Upkeep:
    """Cleans the store up for as long as the worker lives. Trouble goes into the log, and the next turn tries again."""

    def __init__(self, tombstones: Tombstones, keys: Keys, settings: Settings, metrics: Metrics) -> None:
        """`start` begins it."""
        self._tombstones = tombstones
        self._keys = keys
        self._settings = settings
        self._metrics = metrics
        self._life: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The first turn comes after a pause."""
        self._life = asyncio.create_task(self._live())

    async def close(self) -> None:
        """Ends it, also in the middle of a turn."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait((self._life,))

    async def turn(self) -> None:
        """Cleans up once."""
        try:
            self._metrics.upkeep_keys.inc(await self._keys.purge())
            purged = await self._tombstones.purge(self._settings.tombstone_hours * HOUR)
        except MemexError as error:
            log.warning("keys and deletions that are old could not be forgotten: %s", error.message)
            self._metrics.upkeep_runs.labels("failed").inc()
            return
        self._metrics.upkeep_runs.labels("elsewhere" if purged is None else "done").inc()
        self._metrics.upkeep_tombstones.inc(purged or 0)

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(self._settings.interval_seconds * random.uniform(1 - SPREAD, 1 + SPREAD))  # noqa: S311
            try:
                await self.turn()
            except Exception:
                log.exception("a turn of the upkeep failed")
                self._metrics.upkeep_runs.labels("failed").inc()
