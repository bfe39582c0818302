"""Requests per agent and UTC minute, counted in process.

With several workers each enforces its share, so that together they come to the configured limit
(a share is at least one request).
"""

import time
from collections.abc import Callable

import msgspec

from memex.errors import RateLimited
from memex.model import Scope
from memex.settings import Limits

MINUTE = 60


class Share(msgspec.Struct, frozen=True):
    """Which of the workers this process is: `index` of `workers`, from 0."""

    index: int = 0
    workers: int = 1

    def of(self, limit: int) -> int:
        """This worker's part of `limit`; 0 (off) stays 0."""
        part = limit // self.workers + (self.index < limit % self.workers)
        return max(part, 1) if limit else 0


class Allowance(msgspec.Struct, frozen=True):
    """What an agent has left: `remaining` of `limit` requests in the `reset` seconds (1–60) to the next minute."""

    limit: int
    remaining: int
    reset: int


class Limiter:
    """Counts each agent's requests of the current minute, the refused ones included."""

    def __init__(self, limits: Limits, share: Share, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives epoch seconds."""
        self._limits = {
            "write": share.of(limits.writes_per_minute),
            "search": share.of(limits.searches_per_minute),
        }
        self._clock = clock
        self._minute = 0
        self._counts: dict[tuple[str, str, str], int] = {}

    @property
    def counted(self) -> int:
        """How many counts are kept: one for each agent and operation of the minute of the latest request."""
        return len(self._counts)

    def take(self, scope: Scope, operation: str) -> None:
        """Counts one "write" or "search"; raises RateLimited above the limit."""
        limit = self._limits[operation]
        if not limit:
            return
        count = self._count(scope, operation)
        if count > limit:
            raise RateLimited(complaint(operation, count), limit=limit, reset=self._reset())

    def allowance(self, scope: Scope, operation: str) -> Allowance | None:
        """What is left of the minute, None where the limit is off."""
        limit = self._limits[operation]
        if not limit:
            return None
        self._turn()
        used = self._counts.get((operation, scope.tenant_id, scope.agent_id), 0)
        return Allowance(limit=limit, remaining=max(limit - used, 0), reset=self._reset())

    def _count(self, scope: Scope, operation: str) -> int:
        self._turn()
        key = (operation, scope.tenant_id, scope.agent_id)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count

    def _turn(self) -> None:
        """Forgets the minute that is over."""
        minute = int(self._clock()) // MINUTE
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()

    def _reset(self) -> int:
        return MINUTE - int(self._clock()) % MINUTE


def complaint(operation: str, count: int) -> str:
    """The reference's words: clients show them."""
    if operation == "write":
        return f"Write rate limit exceeded ({count} writes this minute). Retry in the next minute."
    return f"Search rate limit exceeded ({count} searches this minute)."
