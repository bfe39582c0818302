"""What the access log says of a flood."""

import logging
from types import SimpleNamespace

import pytest

from memex.api.traffic import Traffic
from memex.logs import QUIET_SECONDS
from memex.metrics import Metrics


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr("memex.logs.time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


@pytest.mark.parametrize(("status", "level"), [(429, "INFO"), (503, "WARNING")])
def test_a_flood_of_refusals_is_a_line_a_second_that_counts_the_others(now, caplog, status, level):
    caplog.set_level(logging.INFO, "memex.access")
    traffic = Traffic(Metrics())
    for _ in range(3):
        for _ in range(5):
            traffic.served("POST", "/v1/memories", status, 0.001)
        now[0] += QUIET_SECONDS
    lines = [
        f"POST /v1/memories {status} 1.0 ms{others}" for others in ("", *[", 4 more since the last such line"] * 2)
    ]
    assert [(record.levelname, record.message) for record in caplog.records] == [(level, line) for line in lines]


def test_what_is_wrong_with_a_request_or_with_us_is_told_each_time(now, caplog):
    caplog.set_level(logging.INFO, "memex.access")
    traffic = Traffic(Metrics())
    for status in (422, 422, 503, 500, 503, 500, 404):
        traffic.served("POST", "/v1/memories", status, 0.001)
    assert [record.message.split()[2] for record in caplog.records] == ["422", "422", "503", "500", "500", "404"]


def test_every_request_is_counted_all_the_same(now):
    metrics = Metrics()
    traffic = Traffic(metrics)
    for _ in range(5):
        traffic.served("POST", "/v1/memories", 503, 0.001)
    labels = {"method": "POST", "status": "5xx", "handler": "/v1/memories"}
    assert metrics.registry.get_sample_value("http_requests_total", labels) == 5
