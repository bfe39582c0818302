"""Redis's agent memory server."""

import uuid

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Hit, Traits


class RedisMemory:
    """REST of redis/agent-memory-server's long-term memory, in the form that has `search_mode`.

    As its `models.py` and `api.py` have it; not run against the product. Recency is off: relevance alone orders.
    """

    traits = Traits(
        name="redis-agent-memory", modes=("hybrid", "semantic", "keyword"), complete=False, indexes_later=True
    )

    def store(self, memory: Memory) -> Call:
        """`POST /v1/long-term-memory/`; the caller gives the id, and copies are kept."""
        record = {"id": uuid.uuid4().hex, "text": memory.text, "user_id": memory.user, "memory_type": "semantic"}
        return Call("/v1/long-term-memory/", {"memories": [record], "deduplicate": False})

    def stored_id(self, answer: Body, sent: Body) -> str:
        """The answer only says that it was taken."""
        return str(sent["memories"][0]["id"])

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """`POST /v1/long-term-memory/search`."""
        body = {"text": text, "user_id": {"eq": user}, "limit": k, "search_mode": mode, "recency_boost": False}
        return Call("/v1/long-term-memory/search", body)

    def hits(self, answer: Body) -> list[Hit]:
        """Newer versions give a score beside the cosine distance."""
        return [Hit(str(hit["id"]), similarity(hit)) for hit in answer["memories"]]


def similarity(hit: Body) -> float:
    """The score, or one less the distance."""
    score = hit.get("score")
    return float(1 - hit["dist"] if score is None else score)
