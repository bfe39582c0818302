"""Deleting all memories that meet conditions."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

import msgspec

from memex.metrics import Metrics
from memex.model import Removal, RemovalQuery, Scope, Space, content_hash
from memex.service.keys import request_key
from memex.service.questions import micros
from memex.store import LEAST_ID, Narrowed, Removable, RequestKey, Writes
from memex.store import Removals as Stored

AT_ONCE = 8
"""Spaces, which mostly wait for one commit together."""
PART = 256
"""Memories of one transaction: other writes of the space wait for it."""
DAY = 86_400_000_000

Part = Callable[[Sequence[bytes]], Awaitable[int | None]]
"""Deletes memories of one space and tells how many there were; None where an equal request is done with all before."""


class Removed(msgspec.Struct, frozen=True):
    """What a request came to."""

    result: Removal
    replayed: bool
    """Whether an earlier request with the same key had done it."""


class Removals:
    """Deletes part by part, so that no transaction is long; what is stored after the beginning stays."""

    def __init__(self, stored: Stored, writes: Writes, metrics: Metrics) -> None:
        """All collaborators are shared with the other services."""
        self._stored = stored
        self._writes = writes
        self._metrics = metrics

    async def run(self, scope: Scope, query: RemovalQuery, key: str | None = None) -> Removed:
        """Deletes them all, or counts them. Raises Unavailable and StoreFault; then a part may be deleted already.

        With a `key` a repeated request does what is left of the first one and tells what both deleted, or what was
        done if it was done. Raises IdempotencyConflict. To count is no write, whatever its key.
        """
        asked = request_key("remove", key, query)
        if asked is None or query.dry_run:
            return await self._run(scope, query)
        return await self._run_once(scope, query, asked)

    async def _run(self, scope: Scope, query: RemovalQuery) -> Removed:
        removable = removable_of(query, await self._stored.clock())
        counts = await self._stored.counts(scope, query.user_id, removable)
        number = sum(counts.values())
        if not query.dry_run:
            spaces = iter([Space(scope.tenant_id, user_id) for user_id in counts])
            number = await self._remove_all(scope, spaces, removable)
        return Removed(Removal(number, query.dry_run), replayed=False)

    async def _remove_all(self, scope: Scope, spaces: Iterator[Space], removable: Removable) -> int:
        """All of several spaces, some at once: what many users have little of shares commits."""

        async def remove() -> int:
            total = 0
            for space in spaces:
                delete = partial(self._writes.delete_all, space, scope.agent_id)
                total += await self._remove(scope, space, removable, delete)
            return total

        try:
            async with asyncio.TaskGroup() as tasks:
                removing = [tasks.create_task(remove()) for _ in range(AT_ONCE)]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return sum(done.result() for done in removing)

    async def _remove(self, scope: Scope, space: Space, removable: Removable, delete: Part) -> int:
        """All of one space; how many there were."""
        total, after, full = 0, LEAST_ID, True
        while full and (ids := await self._stored.ids(scope, space, removable, after, PART)):
            with self._metrics.stage("write"):
                deleted = await delete(ids)
            if deleted is None:
                break
            self._metrics.operations.labels("delete").inc(deleted)
            total, after, full = total + deleted, ids[-1], len(ids) == PART
        return total

    async def _run_once(self, scope: Scope, query: RemovalQuery, key: RequestKey) -> Removed:
        begun = await self._stored.begin(scope, key)
        if not begun.done:
            removable = removable_of(query, begun.at)
            for user_id in await self._stored.counts(scope, query.user_id, removable):
                space = Space(scope.tenant_id, user_id)
                delete = partial(self._stored.part, space, scope.agent_id, key, begun.at)
                await self._remove(scope, space, removable, delete)
        ended = await self._stored.end(scope, key, begun.at)
        self._metrics.operations.labels("replay").inc(ended.replayed)
        return Removed(Removal(ended.count, dry_run=False), ended.replayed)


def removable_of(query: RemovalQuery, now: int) -> Removable:
    """The conditions, as the store takes them; `now` is the database's time in microseconds since 1970."""
    before = micros(query.created_before)
    if query.older_than_days is not None:
        before = now - round(query.older_than_days * DAY) + 1
    return Removable(
        narrowed=Narrowed(
            types=None if query.types is None else tuple(query.types),
            created_after=micros(query.created_after),
            created_before=before,
            tags_any=None if query.tags_any is None else tuple(query.tags_any),
            tags_all=None if query.tags_all is None else tuple(query.tags_all),
            session_id=query.session_id,
            source=query.source,
        ),
        recorded_until=now,
        content_hash=None if query.content is None else content_hash(query.content),
        ids=None if query.ids is None else tuple(query.ids),
    )
