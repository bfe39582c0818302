"""Large bad requests: refused or told item by item, in memory that does not follow their size."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.fixtures.process import Process

ANA = {"agent_id": "assistant", "user_id": "ana"}
MIB = 2**20
MOST = 2 * MIB - 100
"""About the most that a body may have."""
BODIES = {
    "deep lists": b"[" * MOST,
    "deep objects": b'{"a":' * (MOST // 5),
    "many names": json.dumps(ANA | {f"n{n}": n for n in range(120_000)}).encode(),
    "many numbers": b"[" + b"1," * (MOST // 2) + b"1]",
    "one number": b"9" * MOST,
    "one text": json.dumps(ANA | {"content": "x" * MOST}).encode()[:MOST] + b'"}',
    "halves of characters": b'{"content": "' + b"\\ud800" * (MOST // 6) + b'"}',
    "many tags": json.dumps(ANA | {"content": "x", "tags": [7] * 600_000}).encode(),
}
LINES = {
    "many faults a line": (1_000, json.dumps(ANA | {"tags": [1] * 2_000})),
    "long names": (80, json.dumps({f"{n}{'k' * 40_000}": n for n in range(6)})),
    "no object": (10_000, "7"),
    "no line end": (1, "x" * 40 * MIB),
}
ROUTES = ("/v1/memories", "/v1/memories/search", "/v1/memories/batch", "/v1/memories/delete", "/v1/context")


class Memory:
    """What a service's worker takes, beside what it took at first."""

    def __init__(self, service: Process) -> None:
        (worker,) = service.workers()
        self._process = Path(f"/proc/{worker.pid}")
        self._first = self._read("VmRSS")
        (self._process / "clear_refs").write_text("5")  # the highest point is measured from now on

    @property
    def grown(self) -> int:
        """Bytes at the highest point."""
        return self._read("VmHWM") - self._first

    def _read(self, name: str) -> int:
        lines = (self._process / "status").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith(name)]
        return int(line.split()[1]) * 1024


@pytest.fixture
def served(serve: Callable[..., Process]) -> Process:
    service = serve("--log-level", "error").ready()
    with service.client() as client:
        assert client.post("/v1/memories", json=ANA | {"content": "Ana plays the cello"}).status_code == 201
    return service


def refusals(client: httpx.Client) -> Iterator[tuple[str, httpx.Response]]:
    for name, body in BODIES.items():
        for route in ROUTES:
            yield name, client.post(route, content=body, headers={"content-type": "application/json"})


def test_a_bad_body_takes_no_more_than_some_copies_of_it(served: Process):
    memory = Memory(served)
    with served.client() as client:
        for name, answer in refusals(client):
            assert answer.status_code in (200, 413, 422), (name, answer.text[:200])
            assert len(answer.content) < MIB
        assert client.get("/v1/memories/count", params=ANA).json()["count"] == 1
    assert memory.grown < 250 * MIB


def test_a_stream_of_bad_lines_takes_no_more_than_its_outcomes(served: Process):
    memory = Memory(served)
    with served.client() as client:
        for number, line in LINES.values():
            sent = (f"{line}\n".encode() for _ in range(number))
            answer = client.post("/v1/memories/batch", content=sent, headers={"content-type": "application/x-ndjson"})
            told = json.loads(answer.content)
            assert (answer.status_code, told["stored"], told["invalid"]) == (200, 0, number)
            assert len(answer.content) < 32 * MIB
    assert memory.grown < 250 * MIB
