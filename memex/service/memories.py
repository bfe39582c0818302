"""Storing, reading, changing, deleting and counting memories."""

from uuid import UUID

from msgspec import UNSET

from memex.metrics import Metrics
from memex.model import Count, History, Memory, MemoryChange, NewMemory, Scope, Space, State, Target
from memex.service.keys import request_key
from memex.service.limits import Limiter
from memex.service.orders import addition, expiry, named
from memex.service.passages import Passages
from memex.service.sharing import DEFAULT_TENANT
from memex.store import Change, Changed, Reads, Writes, Written


class Memories:
    """One write or change is one embedding, if there is a new text, and one place in a commit group.

    With a `key` of the caller's a request is done once: repeated within 24 hours, its outcome comes again. It is a
    request like any other to the limits. Raises IdempotencyConflict where the key was used for another one of its
    kind, and NotFound where what it led to is deleted.
    """

    def __init__(self, writes: Writes, reads: Reads, passages: Passages, limiter: Limiter, metrics: Metrics) -> None:
        """All collaborators are shared with the other services."""
        self._writes = writes
        self._reads = reads
        self._passages = passages
        self._limiter = limiter
        self._metrics = metrics

    async def add(self, scope: Scope, new: NewMemory, key: str | None = None) -> Written:
        """Stores `new`; it is durable when this returns. Raises RateLimited, Invalid and Unavailable."""
        self._limiter.take(scope, "write")
        text = await self._passages.of(scope, new.user_id, new.content, new.embedding)
        with self._metrics.stage("write"):
            written = await self._writes.write(addition(scope, new, text, request_key("store", key, new)))
        self._done("create", written.replayed)
        return written

    async def change(self, scope: Scope, target: Target, wanted: MemoryChange, key: str | None = None) -> Changed:
        """Changes a memory of the caller; what it is then is durable when this returns.

        Raises as `add`, NotFound, and VersionConflict where it has none of the target's versions.
        """
        self._limiter.take(scope, "write")
        space, text = await self._space(scope, target), None
        if wanted.content is not UNSET:
            ready = None if wanted.embedding is UNSET else wanted.embedding
            text = await self._passages.of(scope, space.user_id, wanted.content, ready)
        change = Change(
            space=space,
            id=target.memory_id,
            agent_id=scope.agent_id,
            model_id=self._passages.model_id,
            versions=target.versions,
            importance=named(wanted.importance),
            visibility=named(wanted.visibility),
            tags=named(wanted.tags),
            metadata=named(wanted.metadata),
            expiry=expiry(wanted),
            text=text,
            key=request_key("change", key, target, wanted),
        )
        return await self._change(change, "update")

    async def archive(self, scope: Scope, target: Target, key: str | None = None) -> Changed:
        """Takes a memory of the caller out of search and count. Raises as `change`."""
        return await self._move(scope, target, State.ARCHIVED, "archive", key)

    async def restore(self, scope: Scope, target: Target, key: str | None = None) -> Changed:
        """Brings an archived memory of the caller back. Raises as `change`."""
        return await self._move(scope, target, State.ACTIVE, "restore", key)

    async def delete(self, scope: Scope, target: Target, key: str | None = None) -> bool:
        """Removes a memory of the caller with its history. Raises NotFound, and VersionConflict as `change`.

        Returns whether it was gone by an earlier request with the same key.
        """
        asked = request_key("delete", key, target)
        with self._metrics.stage("write"):
            replayed = await self._writes.delete(scope, target.memory_id, target.user_id, asked, target.versions)
        self._done("delete", replayed)
        return replayed

    async def delete_anyones(self, target: Target, key: str | None = None, tenant_id: str = DEFAULT_TENANT) -> bool:
        """The same of a memory of any agent of the tenant, for callers who are trusted with all. Raises NotFound."""
        asked = request_key("delete", key, target)
        agent_id = await self._reads.holder(tenant_id, target.memory_id, target.user_id, asked)
        return await self.delete(Scope(tenant_id, agent_id), target, key)

    async def read(self, scope: Scope, memory_id: UUID, user_id: str | None) -> Memory:
        """A memory that the scope may see, archived or not. Raises NotFound."""
        return await self._reads.memory(scope, memory_id, user_id)

    async def history(self, scope: Scope, memory_id: UUID, user_id: str | None, limit: int, below: int) -> History:
        """Its newest `limit` versions below `below`, as far as the scope may see them. Raises NotFound."""
        return await self._reads.history(scope, memory_id, user_id, limit, below)

    async def count(self, scope: Scope, user_id: str) -> Count:
        """How many live memories the caller holds of a user."""
        count = await self._reads.count(scope, user_id)
        return Count(agent_id=scope.agent_id, user_id=user_id, count=count)

    async def _space(self, scope: Scope, target: Target) -> Space:
        """The space of a memory of the caller. Raises NotFound where no user is named and there is none."""
        user_id = target.user_id
        if user_id is None:
            user_id = await self._reads.owner(scope, target.memory_id)
        return Space(scope.tenant_id, user_id)

    async def _move(self, scope: Scope, target: Target, state: State, operation: str, key: str | None) -> Changed:
        self._limiter.take(scope, "write")
        change = Change(
            space=await self._space(scope, target),
            id=target.memory_id,
            agent_id=scope.agent_id,
            model_id=self._passages.model_id,
            versions=target.versions,
            state=state,
            key=request_key(operation, key, target),
        )
        return await self._change(change, operation)

    async def _change(self, change: Change, operation: str) -> Changed:
        with self._metrics.stage("write"):
            changed = await self._writes.change(change)
        self._done(operation, changed.replayed)
        return changed

    def _done(self, operation: str, replayed: bool) -> None:
        """What was done before is not done again."""
        self._metrics.operations.labels("replay" if replayed else operation).inc()
