"""A small service that speaks the two routes and the count, right or with one fault, in a thread of this process."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

METRICS = 'memex_embedding_cache_total{{outcome="hit"}} {hits}\nmemex_embedding_cache_total{{outcome="miss"}} 1.0\n'


class Memories:
    """What is stored, and how the service is wrong."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.searches = count()
        self.asked = 0
        self._numbers = count()
        self._lock = threading.Lock()
        self._rows: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)

    def store(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            row = body | {"id": str(next(self._numbers))}
            rows = self._rows[body["agent_id"], body["user_id"]]
            if not (self.fault == "forgets" and len(rows) >= 5):
                rows.append(row)
            return row

    def count(self, query: dict[str, str]) -> dict[str, Any]:
        rows = self._rows[query["agent_id"], query["user_id"]]
        return query | {"count": len(rows) - (self.fault == "miscounts")}

    def search(self, body: dict[str, Any]) -> dict[str, Any]:
        """The best by the share of common words."""
        self.asked = next(self.searches)
        rows = list({row["content"]: row for row in self._rows[body["agent_id"], body["user_id"]]}.values())
        words = set(body["query"].split())
        hits = [row | {"score": len(words & set(row["content"].split())) / len(words)} for row in rows]
        hits.sort(key=lambda hit: (-hit["score"], hit["id"]))
        return {"results": self.spoiled(hits[: body["top_k"]])}

    def spoiled(self, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.fault == "wavers" and self.asked % 2:
            return [hit | {"score": 0.5} for hit in hits]
        return FAULTS.get(self.fault, list)(hits)


Hits = list[dict[str, Any]]
FAULTS: dict[str, Callable[[Hits], Hits]] = {
    "too few": lambda hits: hits[:-1],
    "upside down": lambda hits: [hit | {"score": at / 10} for at, hit in enumerate(hits)],
    "one twice": lambda hits: [hits[0], *hits[:-1]],
    "of others": lambda hits: [*hits[:-1], hits[-1] | {"user_id": "somebody"}],
    "invented": lambda hits: [*hits[:-1], hits[-1] | {"content": "Nobody ever wrote this"}],
    "repeats a text": lambda hits: [*hits[:-1], hits[-1] | {"content": hits[0]["content"]}],
    "wavers": lambda hits: [hit | {"score": 0.5} for hit in hits[::-1]],
    "worst first": lambda hits: [hit | {"score": 0.5} for hit in hits[::-1]],
    "miscounts": list,
}


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1 with keep-alive."""

    protocol_version = "HTTP/1.1"
    memories: Memories

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/search"):
            self.reply(201, self.memories.store(body))
        elif self.memories.fault == "refuses":
            self.reply(503, {"detail": "overloaded"})
        else:
            self.reply(200, self.memories.search(body))

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/metrics":
            self.send(200, METRICS.format(hits=float(self.memories.asked)).encode())
        else:
            self.reply(200, self.memories.count(dict(parse_qsl(url.query))))

    def reply(self, status: int, answer: dict[str, Any]) -> None:
        self.send(status, json.dumps(answer).encode())

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def service(fault: str = "") -> Iterator[str]:
    """Its address."""
    handler = type("BoundHandler", (Handler,), {"memories": Memories(fault), "disable_nagle_algorithm": True})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
