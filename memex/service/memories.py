"""Storing, deleting and counting memories."""

from uuid import UUID

from memex.index import TERMS_VERSION, tokenize
from memex.metrics import Metrics
from memex.model import Count, NewMemory, Scope, Space, content_hash
from memex.service.ids import uuid7
from memex.service.limits import Limiter
from memex.service.passages import Passages
from memex.store import Reads, Write, Writes, Written


class Memories:
    """One write is one embedding and one place in a commit group."""

    def __init__(self, writes: Writes, reads: Reads, passages: Passages, limiter: Limiter, metrics: Metrics) -> None:
        """All collaborators are shared with the other services."""
        self._writes = writes
        self._reads = reads
        self._passages = passages
        self._limiter = limiter
        self._metrics = metrics

    async def add(self, scope: Scope, new: NewMemory) -> Written:
        """Stores `new`; it is durable when this returns. Raises RateLimited, Invalid and Unavailable."""
        self._limiter.take(scope, "write")
        digest = content_hash(new.content)
        with self._metrics.stage("embed"):
            vectors = await self._passages.of(scope, new, digest)
        with self._metrics.stage("write"):
            written = await self._writes.write(self._row(scope, new, digest, vectors))
        self._metrics.operations.labels("create").inc()
        return written

    async def delete(self, scope: Scope, memory_id: UUID, user_id: str | None) -> None:
        """Removes a memory of the caller, and of `user_id` if given. Raises NotFound."""
        with self._metrics.stage("write"):
            await self._writes.delete(scope, memory_id, user_id)
        self._metrics.operations.labels("delete").inc()

    async def count(self, scope: Scope, user_id: str) -> Count:
        """How many live memories the caller holds of a user."""
        count = await self._reads.count(scope, user_id)
        return Count(agent_id=scope.agent_id, user_id=user_id, count=count)

    def _row(self, scope: Scope, new: NewMemory, digest: bytes, vectors: list[bytes]) -> Write:
        terms = tokenize(new.content)
        return Write(
            space=Space(scope.tenant_id, new.user_id),
            id=uuid7(),
            agent_id=new.agent_id,
            content=new.content,
            importance=new.importance,
            memory_type=new.memory_type,
            visibility=new.visibility,
            tags=new.tags,
            metadata=new.metadata,
            session_id=new.session_id,
            source=new.source,
            external_id=new.external_id,
            created_at=new.created_at,
            expires_at=new.expires_at,
            ttl_seconds=new.ttl_seconds,
            content_hash=digest,
            terms=terms.ids,
            term_counts=terms.counts,
            terms_version=TERMS_VERSION,
            model_id=self._passages.model_id,
            vectors=vectors,
        )
