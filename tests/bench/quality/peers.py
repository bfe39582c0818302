"""Small servers that speak the documented shapes of other services: exact fields, ranking by common words."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx

Body = dict[str, Any]
Row = tuple[str, str, str]


class Peer:
    """Texts by id and user, and the requests that came."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.requests: list[tuple[str, Body]] = []
        self.headers: list[httpx.Headers] = []

    def client(self, **options: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.handle), base_url="http://peer", **options)

    def handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append((request.url.path, body))
        self.headers.append(request.headers)
        return httpx.Response(200, json=self.answer(request.url.path, body))

    def answer(self, path: str, body: Body) -> Body:
        raise NotImplementedError

    def add(self, user: str, text: str, id_: str = "") -> str:
        id_ = id_ or f"id-{len(self.rows)}"
        self.rows.append((id_, user, text))
        return id_

    def best(self, user: str, text: str) -> list[tuple[str, str, float]]:
        """(id, text, score) of a user, best first."""
        found = [(id_, stored, common(text, stored)) for id_, owner, stored in self.rows if owner == user]
        return sorted(found, key=lambda row: -row[2])


def common(first: str, second: str) -> float:
    """Part of the words that both have."""
    words = [set(text.lower().split()) for text in (first, second)]
    return len(words[0] & words[1]) / len(words[0] | words[1])


def only(body: Body, *names: str) -> None:
    assert set(body) <= set(names), f"unknown fields: {set(body) - set(names)}"


class Mem0Server(Peer):
    """`POST /memories` and `POST /search`."""

    def answer(self, path: str, body: Body) -> Body:
        if path == "/memories":
            only(body, "messages", "user_id", "agent_id", "run_id", "metadata", "infer", "memory_type", "prompt")
            assert body["infer"] is False
            (message,) = body["messages"]
            id_ = self.add(body["user_id"], message["content"])
            return {"results": [{"id": id_, "memory": message["content"], "event": "ADD", "role": message["role"]}]}
        assert path == "/search"
        only(body, "query", "user_id", "run_id", "agent_id", "filters", "top_k", "threshold")
        found = self.best(body["user_id"], body["query"])[: body["top_k"]]
        return {"results": [{"id": i, "memory": t, "score": s, "user_id": body["user_id"]} for i, t, s in found]}


class McpMemoryServer(Peer):
    """`POST /api/memories` and `POST /api/search`: one space, the hash of the text as id."""

    def answer(self, path: str, body: Body) -> Body:
        if path == "/api/memories":
            only(body, "content", "tags", "memory_type", "metadata", "client_hostname")
            hash_ = f"hash of {body['content']}"
            if any(row[0] == hash_ for row in self.rows):
                return {"success": False, "message": "Duplicate content detected", "content_hash": None}
            return {"success": True, "message": "stored", "content_hash": self.add("", body["content"], hash_)}
        assert path == "/api/search"
        only(body, "query", "page", "page_size", "similarity_threshold")
        found = self.best("", body["query"])[: body["page_size"]]
        results = [{"memory": {"content_hash": i, "content": t}, "similarity_score": s} for i, t, s in found]
        return {"results": results, "query": body["query"], "search_type": "semantic"}


class RedisServer(Peer):
    """`POST /v1/long-term-memory/`, which indexes after the answer, and its search."""

    def __init__(self, *, scores: bool) -> None:
        super().__init__()
        self.scores = scores
        self.waiting: list[Row] = []

    def answer(self, path: str, body: Body) -> Body:
        if path == "/v1/long-term-memory/":
            only(body, "memories", "deduplicate")
            self.waiting += [(record["id"], record["user_id"], record["text"]) for record in body["memories"]]
            return {"status": "ok"}
        assert path == "/v1/long-term-memory/search"
        only(body, "text", "search_mode", "user_id", "limit", "recency_boost")
        found = self.best(body["user_id"]["eq"], body["text"])[: body["limit"]]
        self.rows, self.waiting = self.rows + self.waiting, []
        extra = [{"score": score, "score_type": body["search_mode"]} if self.scores else {} for *_, score in found]
        memories = [{"id": i, "text": t, "dist": 1 - s, **more} for (i, t, s), more in zip(found, extra, strict=True)]
        return {"memories": memories, "total": len(found), "next_offset": None}


class HindsightServer(Peer):
    """Retain and recall: each text becomes two facts of its document."""

    def answer(self, path: str, body: Body) -> Body:
        bank = re.fullmatch(r"/v1/default/banks/([^/]+)/memories(/recall)?", path)
        assert bank
        if not bank[2]:
            only(body, "items", "async")
            assert body["async"] is False
            for item in body["items"]:
                only(item, "content", "document_id", "timestamp", "context", "metadata", "tags", "entities")
                self.add(bank[1], item["content"], item["document_id"])
            return {"success": True, "bank_id": bank[1], "items_count": len(body["items"])}
        only(body, "query", "types", "budget", "max_tokens")
        found = [row for row in self.best(bank[1], body["query"]) if row[2]]
        facts = [(i, f"{half} fact of {t}") for i, t, _ in found for half in ("first", "second")]
        return {"results": [{"id": text, "text": text, "type": "world", "document_id": i} for i, text in facts]}


PEERS: dict[str, Callable[[], Peer]] = {
    "mem0": Mem0Server,
    "mcp-memory-service": McpMemoryServer,
    "redis-agent-memory": lambda: RedisServer(scores=True),
    "hindsight": HindsightServer,
}
