"""Hindsight, by its REST API."""

import uuid

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Hit, Traits

MAX_TOKENS = 4_096


class Hindsight:
    """REST of vectorize-io/hindsight, `/v1/default/banks`, as its documentation has it; not run against the product.

    It stores facts that a language model takes from a text, and a search has a budget of tokens instead of a number
    of hits: a hit counts for the text that its fact is from, further facts of that text count for nothing, and
    there may be fewer than k.
    """

    traits = Traits(name="hindsight", complete=False)

    def store(self, memory: Memory) -> Call:
        """`POST /v1/default/banks/{bank}/memories`, one bank for each user, answered when it is done."""
        item = {"content": memory.text, "document_id": uuid.uuid4().hex}
        if memory.when:
            item["timestamp"] = memory.when
        return Call(f"/v1/default/banks/{memory.user}/memories", {"items": [item], "async": False})

    def stored_id(self, answer: Body, sent: Body) -> str:
        """The document that every fact names."""
        return str(sent["items"][0]["document_id"])

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """`POST /v1/default/banks/{bank}/memories/recall`."""
        body = {"query": text, "types": ["world", "experience"], "budget": "mid", "max_tokens": MAX_TOKENS}
        return Call(f"/v1/default/banks/{user}/memories/recall", body)

    def hits(self, answer: Body) -> list[Hit]:
        """In order, without scores."""
        return [Hit(str(hit["document_id"]), None) for hit in answer["results"]]
