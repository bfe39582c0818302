"""How much of the exact answer the re-created service finds: its speed is worth nothing without this figure.

python -m bench.reference.recall
"""

import asyncio
import statistics
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
import psycopg

from bench.load.client import Connection, call
from bench.load.sentences import QUESTION, STATEMENT
from bench.machine import release_build
from bench.noise import watched
from bench.reference.encoding import MODEL, PASSAGE, QUERY, Encoder
from bench.results import Result, record
from bench.services.reference import reference
from memex.store.embedded import EmbeddedServer

K = 5
CONNECTIONS = 16
AGENT = "recall"
Texts = list[str]


class Asked(msgspec.Struct, frozen=True):
    """What came back for one question, and what should have."""

    found: Texts
    exact: set[str]

    @property
    def recall(self) -> float:
        """The part of the exact answer that was found."""
        return len(self.exact.intersection(self.found)) / len(self.exact)


@click.command()
@click.option("--model-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=MODEL)
@click.option("--sizes", default="10,100,1000", show_default=True, help="Memories of the users who ask.")
@click.option("--others", default=40, show_default=True, help="Users with 50 memories each in the same table.")
@click.option("--questions", default=50, show_default=True, help="Of each user who asks.")
def main(model_file: Path, sizes: str, others: int, questions: int) -> None:
    """Recall@5 against brute force over the same model's vectors, alpha 1, for users of several sizes."""
    release_build()
    rows = [int(size) for size in sizes.split(",")]
    with watched() as noise, reference(model=model_file) as running:
        users = divided([*rows, *[50] * others])
        asyncio.run(fill(running.url, users))
        analyse(running.home)
        asked = asyncio.run(ask_all(running.url, users[: len(rows)], questions, Encoder(model_file)))
    figures = dict(
        chain.from_iterable(figures_of(len(texts), found) for texts, found in zip(users, asked, strict=False))
    )
    settings = {"model": model_file.name, "sizes": rows, "others": others, "questions": questions, "k": K, "alpha": 1}
    variant = "packaged" if model_file == MODEL else model_file.stem
    record(Result("reference-recall", variant, figures, settings, "all writes, then ANALYZE", [noise]))


def divided(sizes: Iterable[int]) -> list[Texts]:
    """For each user as many texts as its size says; no text is there twice."""
    texts = map(STATEMENT.text, range(STATEMENT.size))
    return [[next(texts) for _ in range(size)] for size in sizes]


def figures_of(size: int, asked: Sequence[Asked]) -> Iterable[tuple[str, float]]:
    """Mean recall and mean number of hits of the user with `size` memories."""
    yield f"recall_at_{K}_of_{size}", round(statistics.fmean(one.recall for one in asked), 3)
    yield f"hits_of_{size}", round(statistics.fmean(len(one.found) for one in asked), 2)


async def fill(url: str, users: Sequence[Texts]) -> None:
    """Stores everything, the users mixed, as a service that is in use gets it."""
    bodies = [body(number, text) for number, texts in enumerate(users) for text in texts]
    order = np.random.default_rng(0).permutation(len(bodies))
    shares = [[bodies[at] for at in order[start::CONNECTIONS]] for start in range(CONNECTIONS)]
    await asyncio.gather(*(post(url, "/v1/memories", share) for share in shares))


def body(number: int, text: str) -> dict[str, Any]:
    """A write of that user."""
    return {"agent_id": AGENT, "user_id": f"user-{number}", "content": text}


async def post(url: str, path: str, bodies: Iterable[dict[str, Any]]) -> list[Any]:
    """The answers, one request after the other."""
    connection = await Connection.open(url)
    answers = [await call(connection, path, each) for each in bodies]
    await connection.close()
    return answers


def analyse(home: Path) -> None:
    """What autovacuum does some seconds later, so that the planner's choice does not depend on when we ask."""
    server = EmbeddedServer(home)
    try:
        with psycopg.connect(server.start(), autocommit=True) as connection:
            connection.execute("ANALYZE memories")
    finally:
        server.stop()


async def ask_all(url: str, users: Sequence[Texts], questions: int, encoder: Encoder) -> list[list[Asked]]:
    """The questions of each of `users`."""
    return [await ask(url, number, texts, questions, encoder) for number, texts in enumerate(users)]


async def ask(url: str, number: int, texts: Texts, questions: int, encoder: Encoder) -> list[Asked]:
    """The answers to one user's questions beside the exact ones."""
    queries = [QUESTION.text(number * questions + at) for at in range(questions)]
    fields = {"agent_id": AGENT, "user_id": f"user-{number}", "top_k": K, "alpha": 1.0}
    answers = await post(url, "/v1/memories/search", [fields | {"query": query} for query in queries])
    found = [[hit["content"] for hit in answer["results"]] for answer in answers]
    nearest = exact(encoder, texts, queries)
    return [Asked(*pair) for pair in zip(found, nearest, strict=True)]


def exact(encoder: Encoder, texts: Texts, queries: Texts) -> list[set[str]]:
    """The K nearest texts of each query by brute force in double precision."""
    rows = np.array([encoder.encode([PASSAGE + text])[0] for text in texts], np.float64)
    asked = np.array([encoder.encode([QUERY + query])[0] for query in queries], np.float64)
    order = np.argsort(-asked @ rows.T, axis=1)[:, :K]
    return [{texts[at] for at in best} for best in order]


if __name__ == "__main__":
    main()
