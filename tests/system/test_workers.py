"""Several workers are one service."""

import re
import time
from collections.abc import Callable

import httpx
import psutil
import pytest

from tests.fixtures.process import Process
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
OWNER = {"agent_id": "helper", "user_id": "ana"}


def test_metrics_answer_for_all_workers(serve: Callable[..., Process]):
    service = serve(WORKERS="2").ready()
    asked = 40
    for _ in range(asked):
        # A connection each, so that both workers get some.
        assert httpx.get(f"{service.url}/v1/memories/count", params=OWNER).status_code == 200
    pattern = r'http_requests_total\{handler="/v1/memories/count",method="GET",status="2xx"\} (\d+)'
    for _ in range(6):
        text = httpx.get(f"{service.url}/metrics").text
        assert [int(float(value)) for value in re.findall(pattern, text)] == [asked]


def test_figures_say_of_which_worker_they_are(serve: Callable[..., Process]):
    service = serve(WORKERS="2").ready()
    seen: set[tuple[int, int]] = set()

    def both() -> bool:
        process = httpx.get(f"{service.url}/v1/stats").json()["process"]
        seen.add((process["worker"], process["workers"]))
        return len(seen) == 2

    until(both)
    assert seen == {(1, 2), (2, 2)}
    assert service.stop() == 0


def test_a_rate_limit_is_shared_out(serve: Callable[..., Process]):
    service = serve(WORKERS="2", RATE_LIMIT_SEARCHES_PER_MINUTE="10").ready()
    body = OWNER | {"query": "anything", "mode": "keyword"}
    until(lambda: time.time() % 60 < 30)  # all within one minute
    answers = [httpx.post(f"{service.url}/v1/memories/search", json=body) for _ in range(60)]
    assert {answer.headers["ratelimit-limit"] for answer in answers} == {"5"}
    statuses = [answer.status_code for answer in answers]
    assert 5 <= statuses.count(200) <= 10  # one worker may have got all of them
    assert set(statuses) == {200, 429}
    assert service.stop() == 0


def test_a_dead_worker_s_gauges_go_with_it(serve: Callable[..., Process]):
    service = serve(WORKERS="2").ready()

    def pool_size() -> int:
        text = httpx.get(f"{service.url}/metrics").text
        return int(float(re.findall(r"^memex_db_pool_size (\S+)", text, re.MULTILINE)[0]))

    until(lambda: pool_size() == 4)
    worker = service.workers()[0]
    worker.kill()
    psutil.wait_procs([worker], timeout=PATIENCE)
    until(lambda: len(service.workers()) == 2 and pool_size() == 4)
    assert service.stop() == 0
