"""The open-source server of mem0."""

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Hit, Traits


class Mem0:
    """REST of mem0's own server, in the form that has `infer`, `top_k` and `threshold`.

    Routes without `/v1`, as its documentation says, fields as in its `server/main.py`; not run against the product.

    `infer` is off, so that texts are stored as they are and no language model is asked; `threshold` 0 drops nothing.
    """

    traits = Traits(name="mem0", key_header="X-API-Key")

    def store(self, memory: Memory) -> Call:
        """`POST /memories`."""
        messages = [{"role": "user", "content": memory.text}]
        return Call("/memories", {"messages": messages, "user_id": memory.user, "infer": False})

    def stored_id(self, answer: Body, sent: Body) -> str:
        """One message is one memory."""
        (result,) = answer["results"]
        return str(result["id"])

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """`POST /search`."""
        return Call("/search", {"query": text, "user_id": user, "top_k": k, "threshold": 0.0})

    def hits(self, answer: Body) -> list[Hit]:
        """Scores are similarities."""
        return [Hit(str(hit["id"]), hit["score"]) for hit in answer["results"]]
