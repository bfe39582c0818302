"""Figures of a block from what was done."""

import pytest

from bench.load.block import Done, Lookups, Seen, costs, halves, rates
from bench.services.running import Cpu
from tests.bench.load.service import service


def test_rates_count_from_the_beginning_to_the_last_answer():
    done = [Done("search", 10.0 + at / 10, at / 1000) for at in range(1, 101)]
    figures = rates(done, 10.0)
    assert (figures["requests"], figures["failures"], figures["requests_per_second"]) == (100, 0, 10.0)
    assert figures["p50_ms"] == pytest.approx(50.5)
    assert figures["p99_ms"] == pytest.approx(99.01)
    assert "search_p50_ms" not in figures


def test_failures_have_no_latency_and_no_rate():
    done = [Done("search", at, 0.01) for at in (1.0, 2.0)] + [Done("write", 4.0, 9.0, failed=True)]
    figures = rates(done, 0.0)
    assert (figures["requests"], figures["failures"], figures["requests_per_second"]) == (2, 1, 0.5)
    assert figures["p99_ms"] == pytest.approx(10.0)


def test_costs_are_milliseconds_for_each_answered_request():
    assert costs(Cpu(2.0, 1.0), 0.5, 1_000) == {
        "cpu_ms_service": 2.0,
        "cpu_ms_postgres": 1.0,
        "cpu_ms_both": 3.0,
        "generator_cpu_ms": 0.5,
    }


def test_texts_of_the_warm_up_are_known_afterwards():
    seen = Seen()
    seen.add("search", "a")
    seen.restart()
    for text in ("a", "b", "b", "c"):
        seen.add("search", text)
    assert seen.repeated_share == 0.5


def test_a_question_and_a_memory_of_one_text_are_two():
    seen = Seen()
    seen.add("search", "a")
    seen.add("write", "a")
    assert seen.repeated_share == 0.0


def test_hit_rates_are_of_the_time_between():
    assert Lookups(30.0, 20.0).rate_since(Lookups(10.0, 10.0)) == {"cache_hit_rate": 0.6667}
    assert Lookups(1.0, 1.0).rate_since(Lookups(1.0, 1.0)) == {}


def test_lookups_are_read_from_the_service():
    with service() as url:
        assert Lookups.of(url) == Lookups(0.0, 1.0)


def test_halves_differ_by_the_larger():
    assert halves([Done("search", instant, 0.1) for instant in (1.0, 2.0, 3.0, 3.5, 9.0, 10.0)], 0.0) == 75.0
