"""Ranking one space of real texts, its answers checked against double precision, beside other ways.

python -m bench.ranking --data FOLDER
"""

import asyncio
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from bench.ceilings import measure_ceilings
from bench.machine import release_build
from bench.noise import watched
from bench.ranking import database, native, rivals
from bench.ranking.corpus import Corpus, corpus
from bench.ranking.rivals import Best, oracle
from bench.ranking.space import Space, space
from bench.ranking.timing import K, recall, summary, timed
from bench.results import Result, record

CHOICES = ("numpy", "numba", "faiss", "usearch", "pgvector")
FUSED = {"numpy": rivals.with_numpy, "numba": rivals.with_numba}
NEAREST = {"faiss": rivals.with_faiss, "usearch": rivals.with_usearch}


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
    figures: dict[str, Any] = {"bytes_per_row": held.ranker.bytes // len(held.matrix)}
    figures |= native.figures(terms.texts, held, terms.seconds, terms.gb_per_s)
    for name, make in FUSED.items():
        if name in chosen:
            figures[f"{name}, semantic"] = of_rival(terms, held, make(held, K), fused=True)
    for name, make in NEAREST.items():
        if name in chosen:
            figures[f"{name}, cosine alone"] = of_rival(terms, held, make(held, K), fused=False)
    if "pgvector" in chosen:
        figures |= of_database(terms, held)
    return figures


def of_rival(terms: Terms, held: Space, best: Best, *, fused: bool) -> dict[str, Any]:
    """One other way."""
    questions = terms.texts.questions
    (times,) = timed({"": lambda question: best(questions[question])}, len(questions), terms.seconds).values()
    recalls = [recall(list(best(question)), oracle(held, question, fused=fused)) for question in questions]
    return summary(times) | {"recall": round(statistics.fmean(recalls), 4)}


def of_database(terms: Terms, held: Space) -> dict[str, Any]:
    """Pgvector without and with its graph."""
    with database.filled(held) as connection:
        asked = partial(of_rival, terms, held, database.nearest(connection, K), fused=False)
        found = {"pgvector exact, cosine alone": asked()}
        database.graph(connection)
        return found | {"pgvector HNSW, cosine alone": asked()}


if __name__ == "__main__":
    main()
