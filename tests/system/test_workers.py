"""Several workers are one service."""

import re
from collections.abc import Callable

import httpx
import pytest

from tests.fixtures.process import Process

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


def test_a_rate_limit_is_shared_out(serve: Callable[..., Process]):
    service = serve(WORKERS="2", RATE_LIMIT_SEARCHES_PER_MINUTE="10").ready()
    body = OWNER | {"query": "anything", "mode": "keyword"}
    statuses = [httpx.post(f"{service.url}/v1/memories/search", json=body).status_code for _ in range(60)]
    # Ten a minute together; a new minute may begin on the way.
    assert 5 <= statuses.count(200) <= 20
    assert set(statuses) == {200, 429}
    assert service.stop() == 0
