"""Vectors by what made them: least recently used go first, and one computation per key at a time."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial

from memex.embedder.encoder import Role
from memex.embedder.vectors import Vector
from memex.metrics import Metrics
from memex.model import CacheStats

Embedded = tuple[Vector, ...]
"""One vector per chunk of a text, in order."""
Compute = Callable[[], Awaitable[Embedded]]

# What an entry costs beside its numbers: key, slot in the map, tuple; and an array object per vector.
ENTRY_BYTES = 320
VECTOR_BYTES = 128


class Keys:
    """SHA-256 over everything that a vector depends on, and over whose text it is."""

    def __init__(self, model: str, engine: str) -> None:
        """`model` is name and revision; `engine` names the arithmetic."""
        self._roots = {role: hashlib.sha256(framed(model, engine, role.value)) for role in Role}

    def key(self, role: Role, domain: str, text: str) -> bytes:
        """32 bytes. No domain learns from the time of an answer what another one has stored."""
        state = self._roots[role].copy()
        state.update(framed(domain))
        state.update(text.encode())
        return state.digest()


def framed(*fields: str) -> bytes:
    """Each field after its length in bytes, so that no two lists of fields are the same bytes."""
    return b"".join(len(field).to_bytes(8, "little") + field for field in map(str.encode, fields))


class Flight:
    """A computation in work, and how many still wait for it."""

    def __init__(self, task: "asyncio.Task[Embedded]") -> None:
        self.task = task
        self.waiters = 0


class Cache:
    """Bounded by bytes. Failures are not kept: the next caller tries again. For one event loop."""

    def __init__(self, capacity: int, metrics: Metrics) -> None:
        """`capacity` in bytes; 0 keeps nothing and still shares computations in work."""
        self.bytes = 0
        self._capacity = capacity
        self._entries: OrderedDict[bytes, Embedded] = OrderedDict()
        self._flights: dict[bytes, Flight] = {}
        self._hits = metrics.cache.labels("hit")
        self._misses = metrics.cache.labels("miss")
        self._waits = metrics.cache.labels("wait")
        self._gauge = metrics.cache_bytes

    def __len__(self) -> int:
        return len(self._entries)

    def stats(self) -> CacheStats:
        """How full it is."""
        return CacheStats(entries=len(self), bytes=self.bytes, capacity=self._capacity)

    def get(self, key: bytes) -> Embedded | None:
        """What is kept under `key`, which becomes the most recently used."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
            self._hits.inc()
        return found

    async def fetch(self, key: bytes, compute: Compute) -> Embedded:
        """The result of `compute`, or of the same computation if it is in work already.

        A waiter that is cancelled leaves the others waiting; when the last one leaves, the work is cancelled.
        """
        flight = self._flights.get(key) or self._launch(key, compute)
        # Every later caller shares: only the one that launched finds nobody waiting.
        (self._waits if flight.waiters else self._misses).inc()
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            flight.waiters -= 1
            self._abandon(key, flight)
            raise

    def put(self, key: bytes, vectors: Embedded) -> None:
        """Keep `vectors`, and let go of what was used least recently. What exceeds the capacity alone is not kept."""
        self._forget(key)
        if size_of(vectors) <= self._capacity:
            self._entries[key] = vectors
            self.bytes += size_of(vectors)
        while self.bytes > self._capacity:
            self._forget(next(iter(self._entries)))
        self._gauge.set(self.bytes)

    def _forget(self, key: bytes) -> None:
        dropped = self._entries.pop(key, None)
        if dropped is not None:
            self.bytes -= size_of(dropped)

    def _launch(self, key: bytes, compute: Compute) -> Flight:
        flight = Flight(asyncio.ensure_future(compute()))
        self._flights[key] = flight
        flight.task.add_done_callback(partial(self._landed, key, flight))
        return flight

    def _landed(self, key: bytes, flight: Flight, task: "asyncio.Task[Embedded]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if not task.cancelled() and task.exception() is None:
            self.put(key, task.result())

    def _abandon(self, key: bytes, flight: Flight) -> None:
        """Cancels work that nobody waits for, and takes it off so that a new caller does not join it."""
        if not flight.waiters and not flight.task.done():
            self._flights.pop(key, None)
            flight.task.cancel()


def size_of(vectors: Embedded) -> int:
    """Bytes that an entry takes, overheads estimated."""
    return ENTRY_BYTES + sum(vector.nbytes + VECTOR_BYTES for vector in vectors)
