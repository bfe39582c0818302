"""What is remembered about a question, as a text for a prompt."""

import msgspec

from memex.embedder import Embedder
from memex.metrics import Metrics
from memex.model import MAX_TOP_K, Context, ContextQuery, Scope
from memex.service.packets import pack
from memex.service.questions import given
from memex.service.search import Search


class Contexts:
    """A search whose hits are made into one text."""

    def __init__(self, search: Search, embedder: Embedder, metrics: Metrics) -> None:
        """All collaborators are shared with the other services; tokens are those of the embedder's model."""
        self._search = search
        self._embedder = embedder
        self._metrics = metrics
        self._done = metrics.operations.labels("context")

    async def run(self, scope: Scope, query: ContextQuery) -> Context:
        """The best memories that `max_tokens` have room for. Counts as a search, and raises what one raises."""
        asked = msgspec.structs.replace(query, top_k=given(query.top_k, MAX_TOP_K))
        found = [memory for _, memory in await self._search.best(scope, asked)]
        with self._metrics.stage("pack"):
            packet = await pack(found, query.max_tokens, self._embedder.count)
        self._done.inc()
        return Context(
            text=packet.text,
            ids=[memory.id for memory in packet.memories],
            tokens=packet.tokens,
            total=len(found),
            left_out=len(found) - len(packet.memories),
            truncated=packet.truncated,
        )
