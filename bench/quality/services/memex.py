"""memex, and the reference whose first routes it shares."""

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Hit, Traits
from memex.model import MAX_CONTENT

AGENT = "quality"
# Scores within 1e-5 are a tie, which goes to the newer; rounded to four decimals, they can look this far apart.
TIE = 1e-4


class Reference:
    """The reference's REST: cosine alone at α 1. Its index may give fewer than k."""

    traits = Traits(name="reference", modes=("semantic",), longest=MAX_CONTENT, complete=False)

    def store(self, memory: Memory) -> Call:
        """`POST /v1/memories`."""
        return Call("/v1/memories", {"agent_id": AGENT, "user_id": memory.user, "content": memory.text})

    def stored_id(self, answer: Body, sent: Body) -> str:
        """In the answer."""
        return str(answer["id"])

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """`POST /v1/memories/search`, relevance alone."""
        body = {"agent_id": AGENT, "user_id": user, "query": text, "top_k": k, "alpha": 1.0}
        return Call("/v1/memories/search", body)

    def hits(self, answer: Body) -> list[Hit]:
        """Scores are rounded to four decimals by the service."""
        return [Hit(str(hit["id"]), hit["score"]) for hit in answer["results"]]


class Memex(Reference):
    """memex's REST. Copies are not collapsed: data sets count items, not texts."""

    traits = Traits(name="memex", modes=("hybrid", "semantic", "keyword"), longest=MAX_CONTENT, tie=TIE)

    def store(self, memory: Memory) -> Call:
        """With the conversation and the time, where the data set knows them."""
        known = {"session_id": memory.session, "created_at": memory.when}
        call = super().store(memory)
        return Call(call.path, call.body | {name: value for name, value in known.items() if value is not None})

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """In one of its modes."""
        call = super().search(user, text, k, mode)
        return Call(call.path, call.body | {"mode": mode, "collapse": False})
