"""mcp-memory-service, by its HTTP interface."""

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Hit, Traits, WrongAnswer


class McpMemory:
    """REST of mcp-memory-service, as its source has it in `web/api` (commit 20e133e); not run against the product.

    It has one space for all, so only data sets of one user can be measured, and the service must be empty.
    A memory's id is the hash of its text: a text that it has already is refused.
    """

    traits = Traits(name="mcp-memory-service", modes=("semantic",), separates_users=False)

    def store(self, memory: Memory) -> Call:
        """`POST /api/memories`."""
        return Call("/api/memories", {"content": memory.text})

    def stored_id(self, answer: Body, sent: Body) -> str:
        """The hash; a refusal comes with status 200."""
        if not answer["success"]:
            raise WrongAnswer(f"mcp-memory-service did not store {sent['content'][:60]!r}: {answer['message']}")
        return str(answer["content_hash"])

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """`POST /api/search`, without the threshold of 0.6 that it has by default."""
        return Call("/api/search", {"query": text, "page": 1, "page_size": k, "similarity_threshold": 0.0})

    def hits(self, answer: Body) -> list[Hit]:
        """Each hit holds the memory and its similarity."""
        return [Hit(str(hit["memory"]["content_hash"]), hit["similarity_score"]) for hit in answer["results"]]
