"""The vectors of a text to remember: computed, or those that were stored with the same text before."""

from memex.embedder import Embedder, to_half
from memex.metrics import Metrics
from memex.model import NewMemory, Scope, Space
from memex.store import Reads


class Passages:
    """Vectors as they are stored: little-endian f16, one per chunk."""

    def __init__(self, embedder: Embedder, stored: Reads | None, metrics: Metrics) -> None:
        """`stored` is where equal texts are looked for first; None computes every text that the cache lacks."""
        self.model_id = embedder.card.id
        self._embedder = embedder
        self._stored = stored
        self._found = metrics.cache.labels("stored")

    async def of(self, scope: Scope, new: NewMemory, content_hash: bytes) -> list[bytes]:
        """Raises Invalid and Unavailable. Only the agent's own texts about the same user are looked at."""
        return await self._known(scope, new, content_hash) or [
            to_half(vector) for vector in await self._embedder.passages(new.content, scope.tenant_id)
        ]

    async def _known(self, scope: Scope, new: NewMemory, content_hash: bytes) -> list[bytes]:
        if self._stored is None:
            return []
        space = Space(scope.tenant_id, new.user_id)
        found = await self._stored.vectors(space, new.agent_id, content_hash, self.model_id)
        self._found.inc(bool(found))
        return found
