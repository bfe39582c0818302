"""Ranking one space of real texts, its answers checked against double precision, beside other ways.

python -m bench.ranking --data FOLDER
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from bench.ceilings import measure_ceilings
from bench.machine import release_build
from bench.noise import watched
from bench.ranking import database, rivals
from bench.ranking.corpus import Corpus, corpus
from bench.ranking.rivals import Best, Column, oracle
from bench.ranking.space import Matrix, Space, ranking, similarity, space
from bench.results import Result, record
from memex.model import Hit, Mode, Ranking

K = 10
TIE = 1e-5
NEAR = 2e-6
"""Single precision in the inner product, against double precision in the oracle."""
SCANNED_BYTES_BESIDE = 20
"""Of a row's scale, product with the centre, residual, age and importance; its coarse codes have 4 bits each."""
CHOICES = ("numpy", "numba", "faiss", "usearch", "pgvector")
FUSED = {"numpy": rivals.with_numpy, "numba": rivals.with_numba}
NEAREST = {"faiss": rivals.with_faiss, "usearch": rivals.with_usearch}

Ask = Callable[[int], list[Any]]
"""The answer to a question, best first: row numbers, or what tells them."""
Truth = Callable[[int], Column]
"""Each row's score for a question, in double precision."""


class Terms(msgspec.Struct, frozen=True):
    """What all measurements share."""

    texts: Corpus
    seconds: float
    gb_per_s: float | None
    """What one core reads from memory."""


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--rows", default="1000,10000,100000,1000000", show_default=True)
@click.option("--questions", default=20, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="For each measurement.")
@click.option("--rivals", "named", default=",".join(CHOICES), show_default=True, help="Empty: none.")
@click.option("--database-rows", default=100_000, show_default=True, help="Spaces above it are not given to pgvector.")
def main(data: Path, rows: str, questions: int, seconds: float, named: str, database_rows: int) -> None:
    """Microseconds of one search on one thread, recall, rows scored in full, share of the memory bandwidth."""
    release_build()
    sizes, chosen = [int(size) for size in rows.split(",")], [name for name in named.split(",") if name]
    if unknown := set(chosen) - set(CHOICES):
        raise click.BadParameter(f"{', '.join(sorted(unknown))}: there are {', '.join(CHOICES)}")
    texts = asyncio.run(corpus(data, max(sizes), questions))
    terms = Terms(texts, seconds, measure_ceilings().read_gb_per_s)
    with watched() as noise:
        figures = {
            str(size): measured(terms, space(texts, size), [name for name in chosen if fits(name, size, database_rows)])
            for size in sizes
        }
    settings = {"rows": sizes, "k": K, "questions": questions, "texts": len(texts.vectors), "threads": 1}
    record(
        Result("ranking", "all" if len(chosen) == len(CHOICES) else "part", figures, settings, "a question", [noise])
    )


def fits(name: str, rows: int, database_rows: int) -> bool:
    """Filling a table and a graph takes minutes for large spaces."""
    return name != "pgvector" or rows <= database_rows


def measured(terms: Terms, held: Space, chosen: list[str]) -> dict[str, Any]:
    """Every way to rank one space."""
    texts = terms.texts
    fused, alone = partial(truth, terms, held), partial(truth, terms, held, fused=False)
    native: dict[str, tuple[Callable[[int], Ranking], Truth | None]] = {
        "semantic": (lambda n: ranking(texts, n, Mode.SEMANTIC, K), fused),
        "hybrid": (lambda n: ranking(texts, n, Mode.HYBRID, K), None),
        "filtered": (lambda n: ranking(texts, n, Mode.SEMANTIC, K, filtered=True), partial(fused, filtered=True)),
        "cosine alone": (lambda n: similarity(texts, n, K), alone),
    }
    figures: dict[str, Any] = {"bytes_per_row": held.ranker.bytes // len(held.matrix)}
    for name, (asked, exact) in native.items():
        figures[name] = of_native(terms, held, asked, exact)
    for name, make in FUSED.items():
        if name in chosen:
            figures[f"{name}, semantic"] = of_rival(terms, make(held, K), fused)
    for name, make in NEAREST.items():
        if name in chosen:
            figures[f"{name}, cosine alone"] = of_rival(terms, make(held, K), alone)
    if "pgvector" in chosen:
        figures |= of_database(terms, held, alone)
    return figures


def truth(terms: Terms, held: Space, question: int, *, fused: bool = True, filtered: bool = False) -> Column:
    """The oracle's scores for a question."""
    return oracle(held, terms.texts.questions[question], fused=fused, filtered=filtered)


def of_native(terms: Terms, held: Space, asked: Callable[[int], Ranking], exact: Truth | None) -> dict[str, Any]:
    """The index itself, the call from Python included; numbers are made of its ids outside of the time."""
    rankings = [asked(question) for question in range(len(terms.texts.questions))]

    def ask(question: int) -> list[Hit]:
        return held.ranker.rank(rankings[question])

    def numbers(hits: list[Hit]) -> list[int]:
        return [int.from_bytes(hit.id, "big") for hit in hits]

    before = held.ranker.work
    for question in range(len(rankings)):
        ask(question)
    scanned, scored = ((now - then) / len(rankings) for now, then in zip(held.ranker.work, before, strict=True))
    figures = timed(terms, ask, exact, numbers) | {"rows_scanned": round(scanned), "rows_scored": round(scored)}
    if terms.gb_per_s and exact:
        read = scanned * (held.matrix.shape[1] / 2 + SCANNED_BYTES_BESIDE)
        figures["bandwidth_share"] = round(read / figures["median_us"] / 1e3 / terms.gb_per_s, 3)
    return figures


def of_rival(terms: Terms, best: Best, exact: Truth) -> dict[str, Any]:
    """One other way."""
    questions: Matrix = terms.texts.questions
    return timed(terms, lambda question: best(questions[question]), exact)


def of_database(terms: Terms, held: Space, exact: Truth) -> dict[str, Any]:
    """Pgvector without and with its graph."""
    with database.filled(held) as connection:
        best = database.nearest(connection, K)
        found = {"pgvector exact, cosine alone": of_rival(terms, best, exact)}
        database.graph(connection)
        return found | {"pgvector HNSW, cosine alone": of_rival(terms, best, exact)}


def timed(terms: Terms, ask: Ask, exact: Truth | None, numbers: Callable[[Any], list[int]] = list) -> dict[str, Any]:
    """Least time of each question over some rounds; of those the least and the median. Recall where there is truth."""
    count = len(terms.texts.questions)
    recalls = [recall(numbers(ask(question)), exact(question)) for question in range(count)] if exact else []
    least, end = [float("inf")] * count, time.perf_counter() + terms.seconds
    while time.perf_counter() < end or float("inf") in least:
        for question in range(count):
            begin = time.perf_counter()
            ask(question)
            least[question] = min(least[question], time.perf_counter() - begin)
    figures = {"min_us": round(1e6 * min(least), 1), "median_us": round(1e6 * statistics.median(least), 1)}
    return figures | ({"recall": round(statistics.fmean(recalls), 4)} if exact else {})


def recall(found: Sequence[int], scores: Column) -> float:
    """The part of the answer whose true scores are among the best K, what ties with the last of them included."""
    bar = np.partition(scores, -K)[-K] - TIE - 2 * NEAR
    return float(np.count_nonzero(scores[np.unique(found)] >= bar)) / K


if __name__ == "__main__":
    main()
