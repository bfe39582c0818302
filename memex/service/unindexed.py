"""Searches that PostgreSQL answers by itself: of times past, and of spaces that are not in memory."""

from memex.metrics import Metrics
from memex.model import Hit, Memory, Question, Scope, Space, microseconds
from memex.service.clock import StoreClock
from memex.service.questions import Questions
from memex.settings import RankingEngine
from memex.store import Rankings

Found = tuple[Hit, Memory]


class Unindexed:
    """Answers with the exact top k, slowly."""

    def __init__(self, questions: Questions, rankings: Rankings, engine: RankingEngine, metrics: Metrics) -> None:
        """`engine` says which searches are for the database; the questions and the clock are shared with the others."""
        self._questions = questions
        self._rankings = rankings
        self.clock = StoreClock()
        self._all = engine is RankingEngine.DATABASE
        self._metrics = metrics
        self._done = metrics.search_engine.labels("database")

    def answers(self, query: Question) -> bool:
        """Whether a search is for the database, be its space in memory or not."""
        return self._all or query.as_of is not None

    async def answer(self, space: Space, scope: Scope, query: Question) -> list[Found]:
        """The best of `space`, as it is or as it was known at `query.as_of`. Raises Unavailable and StoreFault."""
        self._done.inc()
        as_of = None if query.as_of is None else microseconds(query.as_of)
        now = await self._now() if as_of is None else as_of
        with self._metrics.stage("embed"):
            ranking = await self._questions.ranking(scope, query, now)
        with self._metrics.stage("rank"):
            ranked = await self._rankings.best(space, ranking, self._questions.model_id, as_of)
        if ranked.state is None:
            return []
        self._questions.checked(ranked.state)
        self.clock.set(ranked.clock)
        return ranked.found

    async def _now(self) -> int:
        """The store's time: no age is by this machine's clock, not even before the first answer."""
        if not self.clock.is_set:
            self.clock.set(await self._rankings.clock())
        return self.clock.now()
