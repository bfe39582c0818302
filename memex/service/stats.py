"""Figures for agents and for operators."""

import time

from memex import __version__
from memex.embedder import Embedder
from memex.index import Residency
from memex.model import Holdings, Kinds, ModelStats, ProcessStats, Scope, Space, State, Stats, StatsQuery
from memex.service.limits import Share
from memex.store import Lists, Tally


class Statistics:
    """Counts in the store by the caller's scope; figures of the process from its own parts, and from no row."""

    def __init__(self, lists: Lists, embedder: Embedder, residency: Residency, share: Share) -> None:
        """All collaborators are shared with the other services."""
        self._lists = lists
        self._embedder = embedder
        self._residency = residency
        self._share = share
        self._began = time.monotonic()

    async def run(self, scope: Scope | None, query: StatsQuery) -> Stats:
        """Counts for `scope`, None is nobody's, and then figures of the process. Raises Unavailable and StoreFault.

        Never both: the process's figures move with what other agents do.
        """
        if scope is None or query.user_id is None:
            return Stats(__version__, self._model(), memories=None, process=self._process())
        tally = await self._lists.tally(Space(scope.tenant_id, query.user_id), scope)
        return Stats(__version__, self._model(), holdings(scope.agent_id, query.user_id, tally), process=None)

    def _model(self) -> ModelStats:
        card = self._embedder.card
        return ModelStats(card.id, card.dimensions, card.window, self._embedder.engine)

    def _process(self) -> ProcessStats:
        return ProcessStats(
            worker=self._share.index + 1,
            workers=self._share.workers,
            uptime_seconds=round(time.monotonic() - self._began, 3),
            index=self._residency.stats(),
            cache=self._embedder.cached(),
            queue=self._embedder.queued(),
        )


def holdings(agent_id: str, user_id: str, tally: Tally) -> Holdings:
    """As it is shown, with zeros for what there is none of."""
    active, archived, superseded = (Kinds(**tally.get(state, {})) for state in State)
    total = sum(sum(kinds.values()) for kinds in tally.values())
    return Holdings(agent_id, user_id, total, active=active, archived=archived, superseded=superseded)
