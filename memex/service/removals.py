"""Deleting all memories that meet conditions."""

from memex.metrics import Metrics
from memex.model import Removal, RemovalQuery, Scope, Space, content_hash
from memex.service.questions import micros
from memex.store import LEAST_ID, Narrowed, Removable, Writes
from memex.store import Removals as Stored

PART = 256
"""Memories of one transaction: other writes of the space wait for it."""
DAY = 86_400_000_000


class Removals:
    """Deletes part by part, so that no transaction is long; what is stored after the beginning stays."""

    def __init__(self, stored: Stored, writes: Writes, metrics: Metrics) -> None:
        """All collaborators are shared with the other services."""
        self._stored = stored
        self._writes = writes
        self._metrics = metrics

    async def run(self, scope: Scope, query: RemovalQuery) -> Removal:
        """Deletes them all, or counts them. Raises Unavailable and StoreFault; then a part may be deleted already."""
        removable = removable_of(query, await self._stored.clock())
        counts = await self._stored.counts(scope, query.user_id, removable)
        if query.dry_run:
            return Removal(sum(counts.values()), dry_run=True)
        spaces = [Space(scope.tenant_id, user_id) for user_id in counts]
        return Removal(sum([await self._remove(scope, space, removable) for space in spaces]), dry_run=False)

    async def _remove(self, scope: Scope, space: Space, removable: Removable) -> int:
        """All of one space."""
        deleted, after = 0, LEAST_ID
        while ids := await self._stored.ids(scope, space, removable, after, PART):
            with self._metrics.stage("write"):
                deleted += await self._writes.delete_all(space, scope.agent_id, ids)
            after = ids[-1]
        self._metrics.operations.labels("delete").inc(deleted)
        return deleted


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
