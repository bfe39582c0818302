"""The index itself, the call from Python included."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from bench.ranking.corpus import Corpus
from bench.ranking.rivals import Column, oracle
from bench.ranking.space import Space, ranking, similarity
from bench.ranking.timing import K, recall, summary, timed
from memex.index import Ranker
from memex.model import Hit, Mode, Ranking

SCANNED_BYTES_BESIDE = 20
"""Of a row's scale, product with the centre, residual, age and importance; its coarse codes have 4 bits each."""


class Way(msgspec.Struct, frozen=True):
    """One kind of search."""

    ranker: Ranker
    rankings: list[Ranking]
    """For each question."""
    truth: Callable[[int], Column] | None
    """Each row's score for a question, in double precision."""

    def ask(self, question: int) -> list[Hit]:
        """The answer, best first."""
        return self.ranker.rank(self.rankings[question])

    def recalls(self) -> dict[str, Any]:
        """Mean recall, where there is truth."""
        if not self.truth:
            return {}
        found = ([int.from_bytes(hit.id, "big") for hit in self.ask(n)] for n in range(len(self.rankings)))
        return {"recall": round(statistics.fmean(recall(rows, self.truth(n)) for n, rows in enumerate(found)), 4)}

    def work(self) -> dict[str, int]:
        """Rows of a question, in the mean."""
        before = self.ranker.work
        for question in range(len(self.rankings)):
            self.ask(question)
        rows = [(now - then) / len(self.rankings) for now, then in zip(self.ranker.work, before, strict=True)]
        return dict(zip(("rows_scanned", "rows_scored"), map(round, rows), strict=True))


def ways(texts: Corpus, held: Space) -> dict[str, Way]:
    """By name; the first is what the others are compared with."""

    def way(asked: Callable[[int], Ranking], truth: Callable[[int], Column] | None) -> Way:
        return Way(held.ranker, [asked(question) for question in range(len(texts.questions))], truth)

    def truth(question: int, *, fused: bool = True, filtered: bool = False) -> Column:
        return oracle(held, texts.questions[question], fused=fused, filtered=filtered)

    return {
        "semantic": way(lambda n: ranking(texts, n, Mode.SEMANTIC, K), truth),
        "hybrid": way(lambda n: ranking(texts, n, Mode.HYBRID, K), None),
        "filtered": way(lambda n: ranking(texts, n, Mode.SEMANTIC, K, filtered=True), partial(truth, filtered=True)),
        "cosine alone": way(lambda n: similarity(texts, n, K), partial(truth, fused=False)),
    }


def figures(texts: Corpus, held: Space, seconds: float, gb_per_s: float | None) -> dict[str, Any]:
    """Every way beside the first, question by question; they take turns."""
    compared = ways(texts, held)
    times = timed({name: way.ask for name, way in compared.items()}, len(texts.questions), seconds)
    first = next(iter(times))
    found = {}
    for name, way in compared.items():
        ratio = statistics.median(own / its for own, its in zip(times[name], times[first], strict=True))
        beside = {} if name == first else {f"by_{first}": round(ratio, 3)}
        found[name] = summary(times[name]) | beside | way.recalls() | way.work()
        if gb_per_s and way.truth:
            read = found[name]["rows_scanned"] * (held.matrix.shape[1] / 2 + SCANNED_BYTES_BESIDE)
            found[name]["bandwidth_share"] = round(read / found[name]["median_us"] / 1e3 / gb_per_s, 3)
    return found
