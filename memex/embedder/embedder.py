"""Text in, unit vectors out: cache, then batcher, then encoder threads."""

import math
import time
from collections.abc import Sequence
from functools import partial

from memex.embedder.batcher import Batcher
from memex.embedder.cache import Cache, Embedded, Keys
from memex.embedder.chunks import Chunks, open_tokenizer
from memex.embedder.cores import usable_cores
from memex.embedder.counting import Counting
from memex.embedder.encoder import Encoder, Role
from memex.embedder.engines import open_encoder
from memex.embedder.models import Card, open_model
from memex.embedder.scripts import Scripts, known_scripts
from memex.embedder.vectors import Vector, mean, unit
from memex.errors import EncoderFailed, ModelDamaged, Unavailable
from memex.metrics import Metrics
from memex.model import CacheStats, QueueStats
from memex.settings import Embedding

# The first passes load what the runtime loads lazily; the quickest one is the pace of a warm encoder.
WARM_UP_PASSES = 3
WARM_UP_TOKENS = 16


class Embedder:
    """The model behind a cache and a queue. A text's vectors depend on the text alone."""

    def __init__(self, encoder: Encoder, chunks: Chunks, card: Card, settings: Embedding, metrics: Metrics) -> None:
        """Takes texts after `start`."""
        self.card = card
        self.engine = encoder.engine
        self.streams = encoder.streams
        self._encoder = encoder
        self._chunks = chunks
        self._keys = Keys(card.id, encoder.engine)
        self._counting = Counting(chunks.tokenizer)
        self._cache = Cache(settings.cache_bytes, metrics)
        self._batcher = Batcher(encoder, settings, metrics)
        self._errors = metrics.embedding_errors
        self._scripts = Scripts(known_scripts(chunks.tokenizer), metrics)

    def start(self) -> None:
        """Warms the model up and starts the encoder threads. Raises ModelDamaged if its vectors are unfit."""
        self._batcher.start(warm_up(self._encoder, self.card))

    async def close(self) -> None:
        """What waits fails with Unavailable, what runs is finished. Safe to call twice."""
        await self._batcher.close()

    async def query(self, text: str, domain: str = "") -> Vector:
        """The vector of a question: read-only f32[dimensions] of unit length.

        A question past the model's window is the mean direction of its overlapping chunks; nothing is cut off.
        `domain` (the tenant) keeps what the cache knows apart. Raises Unavailable and its kinds.
        """
        key = self._keys.key(Role.QUERY, domain, text)
        found = self._cache.get(key)
        if found is None:
            found = await self._cache.fetch(key, partial(self._embed_query, text))
        return found[0]

    async def passages(self, text: str, domain: str = "") -> list[Vector]:
        """The vectors of a text to remember, one per overlapping chunk: read-only f32[dimensions] of unit length.

        Raises Invalid for a text of more chunks than a memory may have, Unavailable and its kinds.
        """
        key = self._keys.key(Role.PASSAGE, domain, text)
        found = self._cache.get(key)
        if found is None:
            found = await self._cache.fetch(key, partial(self._embed, Role.PASSAGE, text))
        return list(found)

    async def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, as `memex.embedder.counting` counts them."""
        return await self._counting.count(texts)

    def cached(self) -> CacheStats:
        """How full the cache is."""
        return self._cache.stats()

    def queued(self) -> QueueStats:
        """What waits for the encoder threads."""
        return self._batcher.stats()

    async def _embed_query(self, text: str) -> Embedded:
        vectors = await self._embed(Role.QUERY, text)
        return vectors if len(vectors) == 1 else (mean(vectors),)

    async def _embed(self, role: Role, text: str) -> Embedded:
        self._scripts.see(text)
        try:
            self._batcher.admit(role)
            return await self._batcher.embed(role, await self._chunks.split(role, text))
        except Unavailable as error:
            self._errors.labels(role.value, error.code).inc()
            raise


def open_embedder(settings: Embedding, workers: int, metrics: Metrics) -> Embedder:
    """The embedder of one of `workers` processes, warm and started. Blocks for about a second.

    Raises ModelMissing, ModelDamaged or SettingsInvalid.
    """
    directory = open_model(settings.model)
    streams = settings.streams or max(1, usable_cores() // workers)
    encoder = open_encoder(directory, settings.engine, streams)
    chunks = Chunks(open_tokenizer(directory.tokenizer), directory.card)
    check_vocabulary(encoder, chunks, directory.card)
    embedder = Embedder(encoder, chunks, directory.card, settings, metrics)
    embedder.start()
    return embedder


def check_vocabulary(encoder: Encoder, chunks: Chunks, card: Card) -> None:
    """Raises ModelDamaged where the tokenizer gives tokens that the encoder lacks: texts with them would never do."""
    try:
        encoder.encode([[max(chunks.tokenizer.get_vocab().values())]])
    except EncoderFailed as error:
        raise ModelDamaged(f"The tokenizer of the model '{card.name}' has tokens that its weights lack.") from error


def warm_up(encoder: Encoder, card: Card) -> float:
    """Seconds per token of a warm encoder. Raises ModelDamaged if what it gives is not what the card says."""
    tokens = [1] * min(WARM_UP_TOKENS, card.window)
    seconds = math.inf
    try:
        for _ in range(WARM_UP_PASSES):
            started = time.perf_counter()
            rows = encoder.encode([tokens])
            seconds = min(seconds, time.perf_counter() - started)
        found = unit(rows[0])
    except EncoderFailed as error:
        raise ModelDamaged(f"The model '{card.name}' gives no vectors of unit length.") from error
    if found.shape != (card.dimensions,):
        raise ModelDamaged(f"The model '{card.name}' gives {len(found)} dimensions, its card says {card.dimensions}.")
    return seconds / len(tokens)
