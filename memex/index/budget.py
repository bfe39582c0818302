"""Bytes of memory: what resident spaces hold, what loads have set aside, and which spaces are too large."""

import asyncio
import time
from collections.abc import Hashable

import msgspec

from memex.index.loading import TooLarge
from memex.model import Space

REFUSED_SECONDS = 60.0
"""How long a space counts as too large before it is looked at again."""
MOST_REFUSED = 10_000
"""Spaces that are remembered as too large."""


class Refusal(msgspec.Struct, frozen=True):
    """What is known of a space that did not fit."""

    memories: int
    """With so many or more it does not."""
    until: float
    """When to look again, by the monotonic clock."""


class Budget:
    """Only counts; whoever holds the spaces evicts them while there is an `excess`."""

    def __init__(self, whole: int) -> None:
        """`whole` is in bytes."""
        self.whole = whole
        self._held: dict[Space, int] = {}
        self._aside: dict[Hashable, int] = {}
        self._refused: dict[Space, Refusal] = {}
        self.released = asyncio.Event()
        """Set when the next load ends; taken before `admit` is asked, it misses none."""
        self.total = 0
        """Bytes that are held."""

    @property
    def excess(self) -> bool:
        """Whether more is taken than there is."""
        return self.total + sum(self._aside.values()) > self.whole

    def check(self, space: Space) -> None:
        """Raises TooLarge for a space that was found to be a short while ago."""
        refusal = self._refused.get(space)
        if refusal is not None and time.monotonic() < refusal.until:
            raise TooLarge

    def admit(self, load: Hashable, space: Space, size: int, memories: int) -> bool:
        """Sets `size` bytes aside for a load of so many memories; False where other loads have the room for now.

        A space may be loaded twice at once: anew where it was let go, and again for whoever held it still.

        Raises TooLarge where there could never be room.
        """
        refusal = self._refused.get(space)
        if size > self.whole or (refusal is not None and memories >= refusal.memories):
            self.refuse(space, memories if refusal is None else min(memories, refusal.memories))
            raise TooLarge
        if sum(self._aside.values()) + size > self.whole:
            return False
        self._aside[load] = size
        return True

    def grow(self, load: Hashable, space: Space, memories: int, size: int) -> None:
        """A load of so many memories has reached this size. Raises TooLarge where it is above the budget."""
        if size > self.whole:
            self.refuse(space, memories)
            raise TooLarge
        self._aside[load] = max(self._aside[load], size)

    def release(self, load: Hashable) -> None:
        """A load has ended, one way or the other."""
        self._aside.pop(load, None)
        self.released.set()
        self.released = asyncio.Event()

    def hold(self, space: Space, size: int) -> bool:
        """A resident space has this size; False where that alone is above the budget, and it is not held."""
        self.drop(space)
        if size > self.whole:
            return False
        self._held[space] = size
        self.total += size
        self._refused.pop(space, None)
        return True

    def drop(self, space: Space) -> None:
        """A space is not resident any more."""
        self.total -= self._held.pop(space, 0)

    def refuse(self, space: Space, memories: int) -> None:
        """Remembers that a space of so many memories does not fit."""
        self._refused.pop(space, None)
        self._refused[space] = Refusal(memories, time.monotonic() + REFUSED_SECONDS)
        if len(self._refused) > MOST_REFUSED:
            del self._refused[next(iter(self._refused))]
