"""Rankings in threads: searches that wait for the same rows share one walk over them."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial

import msgspec

from memex.index.ranking import Answer, Ranker
from memex.metrics import Metrics
from memex.model import Hit, Ranking


class Waiting(msgspec.Struct, frozen=True):
    """A search that waits for its hits. Who leaves cancels `hits`."""

    ranking: Ranking
    hits: "asyncio.Future[list[Hit]]"


class Walks:
    """One walk at a time over the rows of a ranker, each for all who wait when it begins."""

    def __init__(self, ranker: Ranker, executor: Executor, metrics: Metrics) -> None:
        """`executor` runs the walks."""
        self._ranker = ranker
        self._executor = executor
        self._counters = [metrics.index_rows.labels(step) for step in ("scanned", "scored")]
        self._waiting: list[Waiting] = []
        self._walking = False
        self._counted = (0, 0)

    async def rank(self, ranking: Ranking) -> list[Hit]:
        """The exact top k, from a walk that begins after this call."""
        hits: asyncio.Future[list[Hit]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(ranking, hits))
        if not self._walking:
            self._walk()
        return await hits

    def count(self) -> None:
        """Tells the metrics of the rows that were looked at since the last time."""
        before, self._counted = self._counted, self._ranker.work
        for counter, now, then in zip(self._counters, self._counted, before, strict=True):
            counter.inc(now - then)

    def _walk(self) -> None:
        together = [each for each in self._waiting if not each.hits.done()]
        self._waiting = []
        self._walking = bool(together)
        if together:
            rank = partial(self._ranker.rank_all, [each.ranking for each in together])
            walk = asyncio.get_running_loop().run_in_executor(self._executor, rank)
            walk.add_done_callback(partial(self._walked, together))

    def _walked(self, together: Sequence[Waiting], walk: "asyncio.Future[list[Answer]]") -> None:
        self.count()
        error = walk.exception()
        answers = walk.result() if error is None else [error] * len(together)
        for each, answer in zip(together, answers, strict=True):
            deliver(each.hits, answer)
        self._walk()


def deliver(hits: "asyncio.Future[list[Hit]]", answer: list[Hit] | BaseException) -> None:
    """Hands over hits, or the error instead of them, unless whoever waited has left."""
    if hits.done():
        return
    if isinstance(answer, BaseException):
        hits.set_exception(answer)
    else:
        hits.set_result(answer)
