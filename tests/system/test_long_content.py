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
BULK = 40


def long_text(number: int) -> str:
    """8,000 characters, some 2,000 tokens, of its own."""
    return (f"{number}. " + "The keeper wrote down wind, tide and every ship. " * 170)[:8000]


class Meanwhile:
    """Asks without end, one thing after the other, and notes the most memory that the workers take."""

    def __init__(self, service: Process, *questions: Callable[[httpx.Client, int], httpx.Response]) -> None:
        self._service = service
        self._questions = questions
        self._workers = service.workers()
        self._before = rss(self._workers)
        self._peak = self._before
        self._stop = threading.Event()
        self.answers: list[httpx.Response] = []

    def __enter__(self) -> "Meanwhile":
        self._asking = threading.Thread(target=self._ask)
        self._asking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._asking.join(PATIENCE)

    @property
    def peak(self) -> int:
        """Bytes beyond those at first."""
        return self._peak - self._before

    @property
    def kept(self) -> int:
        """Bytes beyond those at first, now."""
        return rss(self._workers) - self._before

    def _ask(self) -> None:
        with self._service.client() as client:
            while not self._stop.is_set():
                for question in self._questions:
                    self.answers.append(question(client, len(self.answers)))
                    self._peak = max(self._peak, rss(self._workers))


def search(client: httpx.Client, number: int) -> httpx.Response:
    return client.post("/v1/memories/search", json=OWNER | {"query": f"{number}?"})


def listing(client: httpx.Client, _: int) -> httpx.Response:
    return client.get("/v1/memories", params=OWNER | {"limit": "1"})


def count(client: httpx.Client, _: int) -> httpx.Response:
    return client.get("/v1/memories/count", params=OWNER)


def test_many_long_texts_are_all_stored_within_bounded_memory_while_searches_go_on(serve: Callable[..., Process]):
    service = serve().ready()
    with Meanwhile(service, search) as meanwhile, ThreadPoolExecutor(WRITERS) as pool:
        stored = list(pool.map(lambda number: store(service, long_text(number)), range(TEXTS)))
    assert len(set(stored)) == TEXTS
    assert {answer.status_code for answer in meanwhile.answers} == {200}
    assert len(meanwhile.answers) > 5
    assert meanwhile.peak < 300 * MIB
    until(lambda: meanwhile.kept < 150 * MIB)
    with service.client() as client:
        assert count(client, 0).json()["count"] == TEXTS


def test_a_batch_of_long_texts_takes_no_more_and_keeps_nobody_waiting(serve: Callable[..., Process]):
    service = serve().ready()
    items = [OWNER | {"content": long_text(number)} for number in range(BULK)]
    with Meanwhile(service, search, listing, count) as meanwhile, service.client() as client:
        done = client.post("/v1/memories/batch", json=items, timeout=2 * PATIENCE)
    assert (done.status_code, done.json()["stored"]) == (200, BULK)
    assert {answer.status_code for answer in meanwhile.answers} == {200}
    # Some came while it was under way: neither was it one transaction, nor did they wait for its end.
    counted = {answer.json()["count"] for answer in meanwhile.answers if "count" in answer.json()}
    assert len(counted) > 2
    assert meanwhile.peak < 300 * MIB
    until(lambda: meanwhile.kept < 150 * MIB)
    with service.client() as client:
        assert count(client, 0).json()["count"] == BULK


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
