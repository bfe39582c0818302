"""Sentences that ship with memex, put through a model: what its cosines mean, and whether it works at all.

`sentences/pairs.tsv` has questions with the memory that answers each, `sentences/scripts.tsv` one sentence of each
script. No model is fitted to them.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer

from memex.embedder.encoder import Encoder, Tokens
from memex.embedder.models.tokenizing import fit
from memex.embedder.vectors import Vectors, unit

FOLDER = Path(__file__).parent / "sentences"
UNRELATED_QUANTILE = 0.25
BEST = 10
# Trial texts of equal length: so many of so many tokens.
BATCH, BATCH_TOKENS = 7, 16


class Prefixes(msgspec.Struct, frozen=True):
    """What stands in front of a text in either role."""

    query: str
    passage: str


class Probe(msgspec.Struct, frozen=True):
    """The vectors of the sentences, f32[sentences, dimensions] of unit length."""

    questions: Vectors
    memories: Vectors
    """The answer to each question in the same place, then the sentences of all scripts."""
    echoes: Vectors
    """The answers in the role of a question."""
    seconds: float
    """What all of it took, one text at a time."""

    @property
    def floor(self) -> float:
        """The cosine that three quarters of the unrelated pairs of question and memory exceed, to two digits."""
        cosines = self.questions @ self.memories[: len(self.questions)].T
        unrelated = cosines[~np.eye(len(cosines), dtype=bool)]
        return round(float(np.quantile(unrelated, UNRELATED_QUANTILE)), 2)

    @property
    def ceiling(self) -> float:
        """The largest cosine of a text and itself in the other role, to two digits."""
        return round(float((self.echoes * self.memories[: len(self.echoes)]).sum(1).max()), 2)

    @property
    def found(self) -> float:
        """The share of questions whose answer is among the best three of all answers; by chance 0.06."""
        ranks = (-(self.questions @ self.memories[: len(self.questions)].T)).argsort(1)[:, :3]
        return float((ranks == np.arange(len(ranks))[:, None]).any(1).mean())

    @property
    def rate(self) -> float:
        """Texts a second, of about 14 tokens, one at a time on one thread."""
        return (len(self.questions) + len(self.memories) + len(self.echoes)) / self.seconds


class Fidelity(msgspec.Struct, frozen=True):
    """How near one model's vectors are to another's of the same sentences."""

    mean: float
    least: float
    overlap: float
    """The share of the ten best memories of each question that both agree on, 0 to 1."""

    def __str__(self) -> str:
        """For people."""
        return f"cosine mean {self.mean:.5f}, least {self.least:.5f}; best ten in common {self.overlap:.1%}"


def run(encoder: Encoder, tokenizer: Tokenizer, prefixes: Prefixes, window: int) -> Probe:
    """All sentences through a model. Raises EncoderFailed where a vector is not finite or not of unit length."""
    pairs = [line.split("\t") for line in (FOLDER / "pairs.tsv").read_text("utf-8").splitlines()]
    scripts = [line.split("\t")[1] for line in (FOLDER / "scripts.tsv").read_text("utf-8").splitlines()]
    answers = [answer for _, answer in pairs]
    roles = (
        (prefixes.query, [question for question, _ in pairs]),
        (prefixes.passage, answers + scripts),
        (prefixes.query, answers),
    )
    texts = [[ids(tokenizer, prefix + text, window) for text in group] for prefix, group in roles]
    started = time.perf_counter()
    questions, memories, echoes = (embed(encoder, group) for group in texts)
    return Probe(questions, memories, echoes, time.perf_counter() - started)


def ids(tokenizer: Tokenizer, text: str, window: int) -> Tokens:
    """The tokens of a text with the special ones, at most the window."""
    return fit(tokenizer.encode(text).ids, window)


def embed(encoder: Encoder, texts: Sequence[Tokens]) -> Vectors:
    """Each text alone."""
    return np.stack([unit(encoder.encode([text])[0]) for text in texts])


def compare(one: Probe, other: Probe) -> Fidelity:
    """Of two models over the same sentences."""
    pairs = ((one.questions, other.questions), (one.memories, other.memories))
    cosines = np.concatenate([(a * b).sum(1) for a, b in pairs])
    best = [(-(probe.questions @ probe.memories.T)).argsort(1, kind="stable")[:, :BEST] for probe in (one, other)]
    shared = [len(set(a.tolist()) & set(b.tolist())) for a, b in zip(*best, strict=True)]
    return Fidelity(float(cosines.mean()), float(cosines.min()), sum(shared) / (BEST * len(shared)))


def alone_and_together(encoder: Encoder, window: int) -> bool:
    """Whether texts get the same bits in a batch, in any order, as alone."""
    length = min(BATCH_TOKENS, window)
    batch = [[1 + (row * length + place) % 29 for place in range(length)] for row in range(BATCH)]
    alone = np.concatenate([encoder.encode([text]) for text in batch])
    turned = encoder.encode(batch[::-1])[::-1]
    return np.array_equal(encoder.encode(batch), alone) and np.array_equal(turned, alone)
