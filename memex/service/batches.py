"""Storing many memories of one request: embedded and written in groups while more of them arrive."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from memex.errors import Invalid, MemexError, Overloaded, RateLimited, StoreUnavailable
from memex.metrics import Metrics
from memex.model import BatchItem, NewMemory, Scope
from memex.service.keys import request_key
from memex.service.limits import Limiter
from memex.service.orders import addition
from memex.service.outcomes import Batched, Outcomes
from memex.service.passages import Passages
from memex.service.sharing import scope
from memex.store import Stored, Text, Write, Writes

ITEMS = 128
"""Most memories of a group, and of one statement."""
CHARACTERS = 16_384
"""Texts of a group: what waits for the encoder stays far below what it refuses."""
IN_WORK = 3
"""Groups at once: one is written, one embedded, and one follows, so that the encoder never waits."""
PAUSES = (0.1, 0.2, 0.4, 0.8, *[1.6] * 36)
"""Seconds between attempts where the encoder or the writes are busy: a batch can wait, a minute in all.

It may be its own groups that keep a slow encoder busy. Pauses grow little: what comes later begins with short ones.
"""


class Batches:
    """Each item by itself: what is wrong with one is no matter to the others."""

    def __init__(self, writes: Writes, passages: Passages, limiter: Limiter, metrics: Metrics) -> None:
        """All collaborators are shared with the other services."""
        self._writes = writes
        self._passages = passages
        self._limiter = limiter
        self._metrics = metrics

    async def run(self, items: AsyncIterator[BatchItem], key: str | None = None) -> Batched:
        """Stores what can be, in its order; that is durable when this returns.

        For each agent in it a batch is one write of its minute. Where every item failed the first one's error is
        raised: RateLimited, Unavailable or StoreFault. Whatever `items` raises passes, after the end of what was read.
        With a `key` each item is stored once, by the key and its index: a batch that failed half-way may be repeated.
        Raises IdempotencyConflict where each of its items was another one then.
        """
        batch = Batch(self, self._limiter, key)
        try:
            async for group in groups(items):
                await batch.take(group)
        finally:
            await batch.end()
        return batch.outcomes.result()

    async def text(self, caller: Scope, new: NewMemory) -> Text:
        """What a memory is stored with. Raises Invalid and Unavailable, but Overloaded only after several attempts."""
        for pause in PAUSES:
            try:
                return await self._passages.of(caller, new.user_id, new.content, new.embedding)
            except Overloaded:
                await asyncio.sleep(pause)
        return await self._passages.of(caller, new.user_id, new.content, new.embedding)

    async def write(self, rows: Sequence[Write]) -> list[Stored | MemexError]:
        """Stores the rows; what became of each, Overloaded only after several attempts."""
        with self._metrics.stage("write"):
            written = await self._written(rows)
        stored = [one for one in written if isinstance(one, Stored)]
        again = sum(one.replayed for one in stored)
        self._metrics.operations.labels("create").inc(len(stored) - again)
        self._metrics.operations.labels("replay").inc(again)
        return written

    async def _written(self, rows: Sequence[Write]) -> list[Stored | MemexError]:
        """Rows of many users are many changes: what finds no room among those that wait tries again."""
        written = await self._writes.write_all(rows)
        for pause in PAUSES:
            late = [at for at, one in enumerate(written) if isinstance(one, Overloaded)]
            if not late:
                break
            await asyncio.sleep(pause)
            again = await self._writes.write_all([rows[at] for at in late])
            for at, one in zip(late, again, strict=True):
                written[at] = one
        return written


class Batch:
    """The groups of one request, a few at once, and their outcomes in order."""

    def __init__(self, batches: Batches, limiter: Limiter, key: str | None) -> None:
        """Nothing is taken yet."""
        self._batches = batches
        self._key = key
        self._limiter = limiter
        self._places = asyncio.Semaphore(IN_WORK)
        self._last: asyncio.Task[None] | None = None
        self._admitted: dict[str, RateLimited | None] = {}
        self._down: StoreUnavailable | None = None
        """Once the database does not answer, what follows is not tried: each attempt would take its whole time."""
        self.outcomes = Outcomes()

    async def take(self, items: Sequence[BatchItem]) -> None:
        """Begins with a group, once there is room for it."""
        await self._places.acquire()
        self._last = asyncio.create_task(self._group(items, self._last))

    async def end(self) -> None:
        """All groups are done; each waits for the one before."""
        if self._last is not None:
            await self._last

    async def _group(self, items: Sequence[BatchItem], before: asyncio.Task[None] | None) -> None:
        try:
            prepared = await self._prepared(items)
            if before is not None:
                await before
            rows = [row for row in prepared if isinstance(row, Write)]
            written = iter(await self._batches.write(rows) if rows else ())
            for item, row in zip(items, prepared, strict=True):
                self._tell(item, next(written) if isinstance(row, Write) else row)
        finally:
            self._places.release()

    async def _prepared(self, items: Sequence[BatchItem]) -> list[Write | MemexError]:
        """The row of each item, or why there is none. Ready vectors wait for nothing: a task each would be dear."""
        rows = {item.index: await self._row(item) for item in items if is_ready(item)}
        others = [item for item in items if item.index not in rows]
        found = await asyncio.gather(*map(self._row, others))
        rows |= {item.index: row for item, row in zip(others, found, strict=True)}
        return [rows[item.index] for item in items]

    async def _row(self, item: BatchItem) -> Write | MemexError:
        new = item.memory
        if new is None:
            return Invalid(item.problems)
        if refused := self._down or self._refused(new.agent_id):
            return refused
        caller = scope(new.agent_id)
        try:
            key = None if self._key is None else f"{self._key}#{item.index}"
            return addition(caller, new, await self._batches.text(caller, new), request_key("batch", key, new))
        except MemexError as error:
            return error

    def _tell(self, item: BatchItem, result: Stored | MemexError) -> None:
        if isinstance(result, StoreUnavailable):
            self._down = result
        self.outcomes.add(item, result)

    def _refused(self, agent_id: str) -> RateLimited | None:
        """Why an agent may not write; counted once a batch."""
        if agent_id not in self._admitted:
            try:
                self._limiter.take(scope(agent_id), "write")
                self._admitted[agent_id] = None
            except RateLimited as error:
                self._admitted[agent_id] = error
        return self._admitted[agent_id]


async def groups(items: AsyncIterator[BatchItem]) -> AsyncIterator[list[BatchItem]]:
    """Items in groups as they come, bounded in number and in text; what is ready is not embedded."""
    group, characters = list[BatchItem](), 0
    async for item in items:
        group.append(item)
        characters += len(item.memory.content) if item.memory and not is_ready(item) else 0
        if len(group) >= ITEMS or characters >= CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def is_ready(item: BatchItem) -> bool:
    """Whether an item brings its vector."""
    return item.memory is not None and item.memory.embedding is not None
