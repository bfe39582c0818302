"""A space of any number of rows out of a corpus: its texts, then copies of them with noise."""

import hashlib
from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from bench.ranking.corpus import Corpus
from memex.index import Ranker
from memex.model import IndexRow, Mode, Ranking, Scope, Terms

NOW = 1_760_000_000_000_000
DAY = 86_400_000_000
FLOOR, CEILING, ALPHA, WEIGHT, HALF_LIFE = 0.7, 0.95, 0.7, 0.1, 30.0
"""Of the packaged model and the settings' defaults."""
NOISE = 0.14
"""Length of the noise in a copy: its cosine with the text is about 0.99."""
SHARE = 0.5
"""Of the rows that the filter lets through."""
BATCH = 8_192

Matrix = npt.NDArray[np.float32]


class Space(msgspec.Struct, frozen=True):
    """The same rows as the index holds them and as matrices."""

    ranker: Ranker
    matrix: Matrix
    """The stored half-precision vectors widened, shape (rows, dimensions)."""
    created: npt.NDArray[np.float64]
    """Microseconds since 1970: the last year, half of the rows in order."""
    importances: npt.NDArray[np.float64]
    filtered: npt.NDArray[np.bool_]
    """Rows that the filter lets through."""
    floor: float = FLOOR
    ceiling: float = CEILING


def space(corpus: Corpus, rows: int) -> Space:
    """The same for the same corpus and number of rows."""
    noise = np.random.default_rng(rows)
    halves = np.concatenate(list(vectors(corpus, rows, noise)))
    in_order = NOW - 365 * DAY + np.arange(rows) * (365 * DAY // rows)
    anywhere = NOW - noise.integers(0, 365 * DAY, rows)
    created = np.where(noise.random(rows) < 0.5, in_order, anywhere)
    importances = noise.choice([0.5, 1.0, 1.5], rows)
    filtered = noise.random(rows) < SHARE
    ranker = Ranker(halves.shape[1])
    for start in range(0, rows, BATCH):
        numbers = range(start, min(rows, start + BATCH))
        terms = [corpus.terms[n % len(corpus.terms)] for n in numbers]
        made = [
            row(n, words, halves[n], int(created[n]), float(importances[n]), wanted=bool(filtered[n]))
            for n, words in zip(numbers, terms, strict=True)
        ]
        ranker.apply(made, ())
    ranker.compact()
    return Space(ranker, halves.astype(np.float32), created.astype(np.float64), importances, filtered)


def vectors(corpus: Corpus, rows: int, noise: np.random.Generator) -> Iterator[npt.NDArray[np.float16]]:
    """Batches of unit vectors; what is beyond the corpus is a copy with noise."""
    texts, dimensions = corpus.vectors.shape
    for start in range(0, rows, texts):
        part = corpus.vectors[: rows - start].astype(np.float32)
        if start:
            part += noise.standard_normal(part.shape, np.float32) * np.float32(NOISE / dimensions**0.5)
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        yield part.astype("<f2")


def row(
    number: int, terms: Terms, vector: npt.NDArray[np.float16], created: int, importance: float, *, wanted: bool
) -> IndexRow:
    """One memory."""
    return IndexRow(
        id=number.to_bytes(16, "big"),
        agent_id="agent",
        memory_type="semantic" if wanted else "episodic",
        visibility="private",
        state="active",
        tags=[],
        session_id=None,
        source=None,
        content_hash=hashlib.sha256(str(number).encode()).digest(),
        importance=importance,
        created_at=created,
        expires_at=None,
        terms=terms.ids,
        term_counts=terms.counts,
        vectors=[vector.tobytes()],
    )


def ranking(corpus: Corpus, question: int, mode: Mode, k: int, *, filtered: bool = False) -> Ranking:
    """A search of the whole space."""
    return Ranking(
        scope=Scope("default", "agent", ()),
        mode=mode,
        vector=corpus.questions[question],
        terms=corpus.question_terms[question],
        k=k,
        alpha=ALPHA,
        half_life_days=HALF_LIFE,
        importance_weight=WEIGHT,
        floor=FLOOR,
        ceiling=CEILING,
        now=NOW,
        types=("semantic",) if filtered else None,  # type: ignore[arg-type]
    )


def similarity(corpus: Corpus, question: int, k: int) -> Ranking:
    """The nearest rows by cosine alone, as vector indexes rank."""
    fused = ranking(corpus, question, Mode.SEMANTIC, k)
    return msgspec.structs.replace(fused, alpha=1.0, importance_weight=0.0, floor=0.0, ceiling=1.0, collapse=False)
