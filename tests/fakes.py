"""A small deterministic stand-in for the model, for tests whose subject is not the model."""

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import cache

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from memex.embedder import Embedder
from memex.embedder.chunks import Chunks
from memex.embedder.encoder import Tokens
from memex.embedder.models import Card
from memex.embedder.vectors import Vectors
from memex.metrics import Metrics
from memex.settings import Embedding

DIMENSIONS = 384
# The longest wait of any test; reached only when something is broken.
PATIENCE = 30.0


def fake_card(window: int = 4096, dimensions: int = DIMENSIONS) -> Card:
    """Words are near when they are equal and unrelated otherwise, so that 0 and 1 are floor and ceiling."""
    return Card(
        name="fake",
        revision="0" * 16,
        dimensions=dimensions,
        pooling="mean",
        window=window,
        query_prefix="",
        passage_prefix="",
        floor=0.0,
        ceiling=1.0,
        licence="MIT",
        files={},
        provenance={},
    )


def fake_tokenizer() -> Tokenizer:
    """One token per UTF-8 byte, between [CLS] and [SEP]."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["[CLS]", "[SEP]", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    return tokenizer


class FakeEncoder:
    """The unit sum of one random direction per word: texts that share words are near.

    It counts its calls, can be told to fail, and to wait until it is let go.
    """

    engine = "fake"

    def __init__(self, streams: int = 1, *, ragged: bool = False, dimensions: int = DIMENSIONS) -> None:
        self.streams = streams
        self.ragged = ragged
        self.dimensions = dimensions
        self.batches: list[list[str]] = []
        """The texts of every call, in the order of the calls."""
        self.failure: Exception | None = None
        """Raised by every call while set."""
        self.poison: str | None = None
        """A call with a text that holds this raises `failure`; without it every call does."""
        self.started = threading.Semaphore(0)
        """Released once per call, at its beginning."""
        self._gate = threading.Event()
        self._gate.set()
        self._tokenizer = fake_tokenizer()

    def hold(self) -> None:
        """From now on calls wait for `release`."""
        self._gate.clear()

    def release(self) -> None:
        """Lets all calls go on."""
        self._gate.set()

    def wait(self) -> None:
        """Until a call has begun."""
        assert self.started.acquire(timeout=PATIENCE), "nobody called the encoder"

    def forget(self) -> None:
        """As if it had never been called."""
        self.batches = []
        self.started = threading.Semaphore(0)

    @property
    def texts(self) -> list[str]:
        """Every text that was encoded, in order."""
        return [text for batch in self.batches for text in batch]

    def encode(self, batch: Sequence[Tokens]) -> Vectors:
        texts = [self._tokenizer.decode(list(tokens)) for tokens in batch]
        assert self.ragged or len(set(map(len, batch))) == 1, "mixed lengths"
        self.batches.append(texts)
        self.started.release()
        assert self._gate.wait(PATIENCE), "nobody released the encoder"
        if self.failure and (self.poison is None or any(self.poison in text for text in texts)):
            raise self.failure
        return np.stack([embedding(text, self.dimensions) for text in texts])


def embedding(text: str, dimensions: int = DIMENSIONS) -> Vectors:
    """f32[dimensions] of unit length, a function of the words alone."""
    words = re.findall(r"\w+", text.lower()) or [text]
    total = np.sum([direction(word, dimensions) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


@cache
def direction(word: str, dimensions: int) -> Vectors:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


PATIENT = Embedding(search_queue_seconds=PATIENCE, write_queue_seconds=PATIENCE)
"""Settings of an embedder that refuses nothing because a busy machine is slow."""


def fake_embedder(encoder: FakeEncoder, settings: Embedding | None = None, metrics: Metrics | None = None) -> Embedder:
    """An embedder over the fake, patient if not told otherwise: not started, its warm-up passes will count as calls."""
    card = fake_card(dimensions=encoder.dimensions)
    chunks = Chunks(fake_tokenizer(), card)
    return Embedder(encoder, chunks, card, settings or PATIENT, metrics or Metrics())
