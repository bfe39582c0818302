"""One search: at most one embedding, one native ranking and one round trip to the store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from memex.errors import StoreUnavailable
from memex.index import Contents, Residency, Resident, TooLarge
from memex.metrics import Metrics
from memex.model import (
    Explanation,
    Hit,
    Memory,
    Question,
    Ranking,
    Scope,
    SearchQuery,
    SearchResult,
    Space,
    SpaceState,
)
from memex.service.limits import Limiter
from memex.service.questions import Questions
from memex.service.unindexed import Found, Unindexed
from memex.store import Changes, Reads

DIGITS = 4


class Search:
    """Answers with the exact top k of every row in scope that passes the filters."""

    def __init__(
        self,
        questions: Questions,
        reads: Reads,
        residency: Residency,
        unindexed: Unindexed,
        limiter: Limiter,
        metrics: Metrics,
    ) -> None:
        """All collaborators are shared with the other services."""
        self._questions = questions
        self._reads = reads
        self._residency = residency
        self._unindexed = unindexed
        self._limiter = limiter
        self._metrics = metrics
        self._clock = unindexed.clock
        self._done = metrics.operations.labels("search")
        self._ranked = metrics.search_engine.labels("memory")

    async def run(self, scope: Scope, query: SearchQuery) -> SearchResult:
        """The best `top_k`, best first. Raises RateLimited, Unavailable and StoreFault."""
        found = await self.best(scope, query)
        results = [scored(hit, memory, explain=query.explain) for hit, memory in found]
        self._done.inc()
        return SearchResult(results=results, query=query.query, total=len(results))

    async def best(self, scope: Scope, query: Question) -> list[Found]:
        """The same as hits and memories: from memory, or from the database where that is for it or has to be."""
        self._limiter.take(scope, "search")
        space = Space(scope.tenant_id, query.user_id)
        if not self._unindexed.answers(query):
            try:
                found = await self._indexed(space, scope, query)
            except TooLarge:
                self._metrics.index_events.labels("too_large").inc()
            else:
                self._ranked.inc()
                return found
        return await self._unindexed.answer(space, scope, query)

    async def _indexed(self, space: Space, scope: Scope, query: Question) -> list[Found]:
        """The answer from the space in memory. Raises TooLarge where it cannot be there."""
        with self._metrics.stage("load"):
            resident = await self._residency.obtain(space, self._contents)
        if resident is None:
            return []
        # After loading, which every process does first and which tells the store's time: no age is by this machine's.
        with self._metrics.stage("embed"):
            ranking = await self._questions.ranking(scope, query, self._clock.now())
        return await self._answer(space, resident, ranking)

    async def _answer(self, space: Space, resident: Resident, ranking: Ranking) -> list[Found]:
        """Ranks in memory, and asks the store in the one statement that brings the texts whether that was current."""
        state = resident.state  # before the ranking: rows that arrive meanwhile only cost a second look
        if ranking.metadata:
            with self._metrics.stage("refresh"):
                return await self._refreshed(space, resident, ranking)
        with self._metrics.stage("rank"):
            hits = await resident.rank(ranking)
        with self._metrics.stage("fetch"):
            found = await self._reads.hits(
                space, ranking.scope, [hit.id for hit in hits], archived=ranking.include_archived
            )
        if found.state is None:
            return []
        self._clock.set(found.clock)
        if state is not None and found.state.stands_for(state) and len(found.memories) == len(hits):
            return [(hit, found.memories[hit.id]) for hit in hits]
        with self._metrics.stage("refresh"):
            return await self._refreshed(space, resident, ranking)

    async def _refreshed(self, space: Space, resident: Resident, ranking: Ranking) -> list[Found]:
        """The answer from one later snapshot: what changed, the ranking with it, and the texts.

        Others that look at the space wait for what changed, as long as a command may take. Raises StoreUnavailable.
        """
        try:
            async with asyncio.timeout(self._reads.command_timeout) as limit:
                return await self._of_one_moment(space, resident, ranking, limit)
        except TimeoutError as error:
            raise StoreUnavailable from error

    async def _of_one_moment(
        self, space: Space, resident: Resident, ranking: Ranking, limit: asyncio.Timeout
    ) -> list[Found]:
        async with AsyncExitStack() as snapshot:
            async with resident.lock:
                changes = await snapshot.enter_async_context(
                    self._reads.changes(space, resident.state, resident.most_changes)
                )
                if changes.state is None:
                    return []
                if changes.reload:
                    limit.reschedule(None)  # of many commands, each of which is bounded
                await self._follow(space, resident, changes, self._questions.checked(changes.state))
                hits = await resident.rank(await self._of_snapshot(changes, ranking))
            memories = await changes.memories(
                ranking.scope, [hit.id for hit in hits], archived=ranking.include_archived
            )
        return [(hit, memories[hit.id]) for hit in hits]

    async def _of_snapshot(self, changes: Changes, ranking: Ranking) -> Ranking:
        """The ranking by the snapshot's clock, so that nothing expires before it is read, and of what matches in it."""
        only = await changes.matching(ranking.scope, ranking.metadata) if ranking.metadata else None
        return msgspec.structs.replace(ranking, now=changes.clock, only=only)

    async def _follow(self, space: Space, resident: Resident, changes: Changes, state: SpaceState) -> None:
        """Brings the resident space to the snapshot's state; the caller holds its lock."""
        if changes.reload:
            await self._residency.refill(space, resident, await contents(changes, state))
        else:
            await resident.apply(state, changes.rows, changes.removed)
            self._metrics.index_events.labels("delta").inc()
            self._residency.weigh(space, resident)

    @asynccontextmanager
    async def _contents(self, space: Space) -> AsyncIterator[Contents | None]:
        """A whole space from the store, for the index."""
        async with self._reads.load(space) as changes:
            if changes.state is None:
                yield None
            else:
                self._clock.set(changes.clock)
                yield await contents(changes, self._questions.checked(changes.state))


async def contents(changes: Changes, state: SpaceState) -> Contents:
    """All of a snapshot that is in `state`, for the index."""
    return Contents(state, changes.memory_count, changes.vector_count, await changes.beginning(), changes.streams())


def scored(hit: Hit, memory: Memory, *, explain: bool) -> Memory:
    """A memory with what the ranking says of it, the parts of its score only where they are asked for."""
    memory.score = round(hit.score, DIGITS)
    memory.duplicates = hit.duplicates
    if explain:
        memory.explain = explanation(hit)
    return memory


def explanation(hit: Hit) -> Explanation:
    """The parts of a hit's score."""
    return Explanation(
        cosine=hit.cosine,
        lexical=hit.lexical,
        relevance=hit.relevance,
        recency=hit.recency,
        importance=hit.importance,
        final=hit.score,
    )
