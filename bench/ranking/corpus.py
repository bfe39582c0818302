"""Real texts as the product embeds them: sentences of the data sets of `bench.quality`, and their questions.

Sentences are cut at full stops, each kept once if it has more than 20 characters, and mixed with a fixed seed.
"""

import asyncio
import re
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from bench.quality import devbench, locomo, scifact, xquad
from bench.quality.dataset import Dataset
from memex.embedder import Embedder, open_embedder
from memex.index import tokenize
from memex.metrics import Metrics
from memex.model import Terms
from memex.settings import Embedding

SENTENCE = re.compile(r"(?<=[.!?。])\s*")
LEAST_CHARACTERS = 20
MOST_TEXTS = 30_000
TOGETHER = 256
EMBED_SECONDS = 300.0
"""Texts that are embedded at once, and how long the last of them may wait."""


class Corpus(msgspec.Struct, frozen=True):
    """Texts with their vectors, and the questions of the same data sets."""

    vectors: npt.NDArray[np.float16]
    """Shape (texts, dimensions)."""
    terms: list[Terms]
    questions: npt.NDArray[np.float32]
    """Shape (questions, dimensions)."""
    question_terms: list[Terms]


async def corpus(data: Path, texts: int, questions: int) -> Corpus:
    """At most MOST_TEXTS texts and some questions; some minutes for all."""
    sets = datasets(data)
    found = chosen(sentences(sets), min(texts, MOST_TEXTS))
    asked = chosen(list(dict.fromkeys(question.text for one in sets for question in one.questions)), questions)
    embedder = open_embedder(Embedding(write_queue_seconds=EMBED_SECONDS), 1, Metrics())
    try:
        vectors = [await embedded(embedder, found[at : at + TOGETHER]) for at in range(0, len(found), TOGETHER)]
        queries = np.stack([await embedder.query(question) for question in asked])
    finally:
        await embedder.close()
    halves = np.concatenate(vectors).astype("<f2")
    return Corpus(halves, [tokenize(text) for text in found], queries, [tokenize(text) for text in asked])


async def embedded(embedder: Embedder, texts: list[str]) -> npt.NDArray[np.float32]:
    """The first vector of each text: a sentence has no more."""
    found = await asyncio.gather(*(embedder.passages(text) for text in texts))
    return np.stack([vectors[0] for vectors in found])


def datasets(folder: Path) -> list[Dataset]:
    """Those that have texts to store, in English, Spanish, Chinese and Russian."""
    return [
        scifact.read(folder / "scifact"),
        xquad.read(folder / "xquad"),
        locomo.read(folder / "locomo-dev" / "locomo-dev.json"),
        devbench.read(folder / "devbench" / "devbench_dataset.json"),
    ]


def sentences(sets: list[Dataset]) -> list[str]:
    """Each sentence once."""
    cut = (sentence for one in sets for memory in one.memories for sentence in SENTENCE.split(memory.text))
    return list(dict.fromkeys(sentence for sentence in cut if len(sentence) > LEAST_CHARACTERS))


def chosen(texts: list[str], count: int) -> list[str]:
    """Some of them, the same every time."""
    order = np.random.default_rng(0).permutation(len(texts))[:count]
    return [texts[at] for at in order]
