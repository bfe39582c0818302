"""Long texts in great number: memory stays bounded and falls back, everybody else is answered, nothing is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from tests.fixtures.process import Process
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
OWNER = {"agent_id": "helper", "user_id": "ana"}
MIB = 2**20
TEXTS, WRITERS = 24, 12


def long_text(number: int) -> str:
    """8,000 characters, some 2,000 tokens, of its own."""
    return (f"{number}. " + "The keeper wrote down wind, tide and every ship. " * 170)[:8000]


def test_many_long_texts_are_all_stored_within_bounded_memory_while_searches_go_on(serve: Callable[..., Process]):
    service = serve().ready()
    workers = service.workers()
    before, peak = rss(workers), [0]
    answers: list[httpx.Response] = []
    stop = threading.Event()

    def search() -> None:
        with service.client() as client:
            while not stop.is_set():
                answers.append(client.post("/v1/memories/search", json=OWNER | {"query": f"{len(answers)}?"}))
                peak[0] = max(peak[0], rss(workers))

    searching = threading.Thread(target=search)
    searching.start()
    with ThreadPoolExecutor(WRITERS) as pool:
        stored = list(pool.map(lambda number: store(service, long_text(number)), range(TEXTS)))
    stop.set()
    searching.join(PATIENCE)
    assert len(set(stored)) == TEXTS
    assert {answer.status_code for answer in answers} == {200}
    assert len(answers) > 5
    assert peak[0] - before < 300 * MIB
    until(lambda: rss(workers) - before < 150 * MIB)
    with service.client() as client:
        assert client.get("/v1/memories/count", params=OWNER).json()["count"] == TEXTS


def store(service: Process, content: str) -> str:
    """The id of the memory; who is told to come back later does."""
    with service.client() as client:
        for _ in range(200):
            answer = client.post("/v1/memories", json=OWNER | {"content": content}, timeout=PATIENCE)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            threading.Event().wait(float(answer.headers["retry-after"]))
    assert answer.status_code == httpx.codes.CREATED
    return str(answer.json()["id"])


def rss(processes: list[psutil.Process]) -> int:
    """Bytes of those that still run."""
    return sum(process.memory_info().rss for process in processes if process.is_running())
