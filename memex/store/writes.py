"""The writing half of the store: what arrives together is committed together.

Writes that arrive while a commit is in flight form the next group, so there is no timer: alone a
write goes at once, and under load a group is as large as what one commit lets arrive.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID

from memex.errors import MemexError, NotFound, Overloaded, StoreFault, StoreUnavailable
from memex.metrics import Metrics
from memex.model import Scope, Space
from memex.store.composites import Change, Changed, Deleted, RequestKey, Stored, Write, Written, encode
from memex.store.faults import DataRefused
from memex.store.groups import AnyMember, commit
from memex.store.lookups import held
from memex.store.members import Changing, Deleting, DeletingVersion, Member, Storing, Writing
from memex.store.pool import Pool

log = logging.getLogger(__name__)

T = TypeVar("T")
GROUP = 128
"""Most changes of one commit: what waits behind it is not kept long."""
WAITING = 1024
"""Changes that may wait; one more is refused with 503 at once."""


class Writes:
    """One process's writes, changes and deletes, in the order they came."""

    def __init__(self, pool: Pool, metrics: Metrics, command_timeout: float) -> None:
        """`command_timeout` in seconds is the longest that a caller waits."""
        self._pool = pool
        self._metrics = metrics
        self._seconds = command_timeout
        self._waiting: deque[AnyMember] = deque()
        self._wanted = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to commit."""
        self._closing = False
        self._task = asyncio.create_task(self._serve())

    async def close(self) -> None:
        """Take no more, and commit what waits."""
        self._closing = True
        self._wanted.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def write(self, write: Write) -> Written:
        """Store one memory; returns after its commit.

        Raises StoreUnavailable or Overloaded (nothing was acknowledged) or StoreFault (PostgreSQL
        refused the row). A caller who leaves before its group began has written nothing. With a key
        also IdempotencyConflict, and NotFound where what was stored with it is deleted.
        """
        member = Writing(
            space=write.space,
            outcome=future(),
            model_id=write.text.model_id,
            key=write.key,
            encoded=encode(write),
            once=write.once,
        )
        return await self._outcome(member)

    async def write_all(self, writes: Sequence[Write]) -> list[Stored | MemexError]:
        """Store many memories, those of one space in one transaction and in their order; what became of each."""
        spaces: dict[Space, list[int]] = {}
        for at, write in enumerate(writes):
            spaces.setdefault(write.space, []).append(at)
        found = await asyncio.gather(*[self._write_space([writes[at] for at in part]) for part in spaces.values()])
        places = [at for part in spaces.values() for at in part]
        outcomes = dict(zip(places, [one for part in found for one in part], strict=True))
        return [outcomes[at] for at in range(len(writes))]

    async def _write_space(self, writes: Sequence[Write]) -> Sequence[Stored | MemexError]:
        """Where PostgreSQL refuses the data of one, each by itself."""
        first = writes[0]
        try:
            encoded, once = [encode(write) for write in writes], [write.once for write in writes]
            return await self._outcome(
                Storing(
                    space=first.space,
                    outcome=future(),
                    model_id=first.text.model_id,
                    encoded=encoded,
                    once=once,
                    each_key=[write.key for write in writes],
                )
            )
        except DataRefused as error:
            if len(writes) == 1:
                return [error]
        except MemexError as error:
            return [error] * len(writes)
        return [one for write in writes for one in await self._write_space([write])]

    async def change(self, change: Change) -> Changed:
        """Change one memory; returns what it is after the commit, which may be what it was.

        Raises as `write`, NotFound, and VersionConflict where it has none of the change's versions.
        """
        member = Changing(
            space=change.space, outcome=future(), model_id=change.model_id, key=change.key, encoded=encode(change)
        )
        return await self._outcome(member)

    async def delete(
        self,
        scope: Scope,
        memory_id: UUID,
        user_id: str | None,
        key: RequestKey | None = None,
        versions: tuple[int, ...] | None = None,
    ) -> bool:
        """Delete a memory of the scope's own agent, of the user and in one of the versions where those are named.

        Returns whether an earlier request with the same key did. Raises NotFound, VersionConflict and
        IdempotencyConflict.
        """
        if user_id is None:
            user_id = await self._pool.run(held, scope, memory_id, key)
        space = Space(scope.tenant_id, user_id)
        if versions is not None:
            return await self._delete_version(space, scope.agent_id, memory_id, key, versions)
        deleted = await self._delete(space, scope.agent_id, [memory_id.bytes], key)
        if not deleted.count:
            raise NotFound
        return deleted.replayed

    async def delete_all(self, space: Space, agent_id: str, ids: Sequence[bytes]) -> int:
        """Delete those memories of the agent, in one transaction; returns how many were there. Raises as `write`."""
        return (await self._delete(space, agent_id, ids, None)).count

    async def _delete(self, space: Space, agent_id: str, ids: Sequence[bytes], key: RequestKey | None) -> Deleted:
        member = Deleting(space=space, outcome=future(), key=key, agent_id=agent_id, ids=ids)
        return await self._outcome(member)

    async def _delete_version(
        self, space: Space, agent_id: str, memory_id: UUID, key: RequestKey | None, versions: tuple[int, ...]
    ) -> bool:
        nothing = Change(space=space, id=memory_id, agent_id=agent_id, model_id="", versions=versions)
        member = DeletingVersion(
            space=space,
            outcome=future(),
            key=key,
            agent_id=agent_id,
            memory_id=memory_id.bytes,
            encoded=encode(nothing),
        )
        return (await self._outcome(member)).replayed

    async def _outcome(self, member: Member[T]) -> T:
        """Queue a change and wait for what becomes of it."""
        if self._closing or self._task is None:
            raise StoreUnavailable
        if len(self._waiting) >= WAITING:
            raise Overloaded
        self._waiting.append(member)
        self._wanted.set()
        try:
            async with asyncio.timeout(self._seconds):
                return await member.outcome
        except TimeoutError as error:
            raise StoreUnavailable from error

    async def _serve(self) -> None:
        """Commit group after group until closed and empty."""
        while self._waiting or not self._closing:
            await self._wanted.wait()
            self._wanted.clear()
            while group := self._group():
                await self._commit(group)
            if self._closing:
                self._wanted.set()

    def _group(self) -> list[AnyMember]:
        """The next members, without those whose callers have gone."""
        group: list[AnyMember] = []
        size = 0
        while self._waiting and size < GROUP:
            member = self._waiting.popleft()
            if not member.outcome.done():
                group.append(member)
                size += member.size
        return group

    async def _commit(self, group: list[AnyMember]) -> None:
        """One group to its end: every member has an outcome after it."""
        self._metrics.group_rows.observe(sum(member.size for member in group))
        try:
            await self._pool.run(commit, group)
        except MemexError as error:
            for member in group:
                member.fail(type(error)(error.message))
        except Exception:
            log.exception("a group of writes failed")
            for member in group:
                member.fail(StoreFault())


def future() -> asyncio.Future[Any]:
    """Where a caller waits."""
    return asyncio.get_running_loop().create_future()
