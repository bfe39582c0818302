"""What a text is stored with: its terms, and its vectors: the caller's own, known ones, or computed."""

import unicodedata
from collections.abc import Sequence

from memex.embedder import Embedder, own, to_half
from memex.index import TERMS_VERSION, tokenize
from memex.metrics import Metrics
from memex.model import Scope, Space, content_hash
from memex.store import Reads, Text

SAYING = "LNS"
"""Kinds of characters that say something to a model: letters, digits and symbols."""


class Passages:
    """Texts as they are stored, with vectors of the current model."""

    def __init__(self, embedder: Embedder, stored: Reads | None, metrics: Metrics) -> None:
        """`stored` is where equal texts are looked for first; None computes every text that the cache lacks."""
        self.model_id = embedder.card.id
        self._embedder = embedder
        self._stored = stored
        self._metrics = metrics
        self._found = metrics.cache.labels("stored")

    async def of(self, scope: Scope, user_id: str, content: str, embedding: Sequence[float] | None) -> Text:
        """`embedding` is the caller's own vector. Raises Invalid and Unavailable.

        Only the agent's own texts about the same user are looked at.
        """
        digest = content_hash(content)
        with self._metrics.stage("embed"):
            vectors = await self._vectors(scope, user_id, content, digest, embedding)
        terms = tokenize(content)
        return Text(
            content=content,
            content_hash=digest,
            terms=terms.ids,
            term_counts=terms.counts,
            terms_version=TERMS_VERSION,
            model_id=self.model_id,
            vectors=vectors,
            ready=embedding is not None,
        )

    async def _vectors(
        self, scope: Scope, user_id: str, content: str, digest: bytes, embedding: Sequence[float] | None
    ) -> list[bytes]:
        """Little-endian f16, one per chunk; a vector of the caller's own is the only one.

        Marks alone have none: to a model they are near every question, nearer than most answers.
        """
        if embedding is not None:
            return [to_half(own(embedding, self._embedder.card.dimensions))]
        if not says_something(content):
            return []
        return await self._known(scope, user_id, digest) or [
            to_half(vector) for vector in await self._embedder.passages(content, scope.tenant_id)
        ]

    async def _known(self, scope: Scope, user_id: str, digest: bytes) -> list[bytes]:
        if self._stored is None:
            return []
        found = await self._stored.vectors(Space(scope.tenant_id, user_id), scope.agent_id, digest, self.model_id)
        self._found.inc(bool(found))
        return found


def says_something(content: str) -> bool:
    """Whether there is more than marks, spaces, and characters that have no meaning of their own."""
    return any(unicodedata.category(character)[0] in SAYING for character in content)
