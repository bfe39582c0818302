"""Counting requests per agent and minute, by a clock of the test's own."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.errors import RateLimited
from memex.service import Allowance, Limiter, Share, scope
from memex.settings import Limits

ADA, BOB = scope("ada"), scope("bob")


class Clock:
    def __init__(self, now: float = 600.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def limiter(clock: Clock, writes: int = 2, searches: int = 3, share: Share | None = None) -> Limiter:
    return Limiter(Limits(writes_per_minute=writes, searches_per_minute=searches), share or Share(), clock)


def taken(limits: Limiter, times: int, operation: str = "write") -> list[str]:
    """What became of each: "" or the complaint."""
    outcomes = []
    for _ in range(times):
        try:
            limits.take(ADA, operation)
        except RateLimited as error:
            outcomes.append(error.message)
        else:
            outcomes.append("")
    return outcomes


def test_the_complaint_has_the_number_of_the_refused_one():
    assert taken(limiter(Clock()), 4)[2:] == [
        "Write rate limit exceeded (3 writes this minute). Retry in the next minute.",
        "Write rate limit exceeded (4 writes this minute). Retry in the next minute.",
    ]
    assert taken(limiter(Clock()), 4, "search") == ["", "", "", "Search rate limit exceeded (4 searches this minute)."]


@pytest.mark.parametrize(("second", "left"), [(0, 60), (0.999, 60), (1, 59), (30.5, 30), (59, 1), (59.999, 1)])
def test_the_seconds_left_are_whole_and_never_too_few(second: float, left: int):
    limits = limiter(Clock(600 + second))
    limits.take(ADA, "write")
    limits.take(ADA, "write")
    assert limits.allowance(ADA, "write") == Allowance(limit=2, remaining=0, reset=left)
    with pytest.raises(RateLimited) as refused:
        limits.take(ADA, "write")
    assert (refused.value.retry_after, refused.value.reset, refused.value.limit) == (left, left, 2)


def test_a_minute_is_that_of_the_clock_not_of_the_first_request():
    clock = Clock(659)
    limits = limiter(clock)
    assert taken(limits, 3)[-1]
    clock.now = 660
    assert taken(limits, 2) == ["", ""]


def test_what_is_left_after_the_minute_has_turned_is_of_the_new_one():
    clock = Clock(659)
    limits = limiter(clock)
    taken(limits, 2)
    clock.now = 660
    assert limits.allowance(ADA, "write") == Allowance(limit=2, remaining=2, reset=60)


def test_a_clock_that_goes_back_closes_nobody_out():
    clock = Clock(700)
    limits = limiter(clock)
    taken(limits, 3)
    clock.now = 500
    assert taken(limits, 2) == ["", ""]


def test_agents_and_operations_are_counted_apart():
    limits = limiter(Clock())
    assert taken(limits, 3)[-1]
    limits.take(BOB, "write")
    limits.take(ADA, "search")
    limits.take(scope("ada", "another tenant"), "write")


def test_off_counts_nothing():
    limits = limiter(Clock(), writes=0)
    assert taken(limits, 1_000) == [""] * 1_000
    assert limits.allowance(ADA, "write") is None
    assert limits.counted == 0


def test_what_is_kept_does_not_grow_from_minute_to_minute():
    clock = Clock()
    limits = limiter(clock)
    for minute in range(50):
        clock.now = minute * 60.0
        for number in range(20):
            limits.take(scope(f"agent-{minute}-{number}"), "search")
    assert limits.counted == 20


@given(st.integers(1, 64), st.integers(0, 1_000))
def test_the_shares_of_all_workers_come_to_the_limit(workers: int, limit: int):
    shares = [Share(index, workers).of(limit) for index in range(workers)]
    assert sum(shares) == (max(limit, workers) if limit else 0)
    assert max(shares) - min(shares) <= 1


@given(st.lists(st.tuples(st.sampled_from(["ada", "bob"]), st.integers(0, 3)), max_size=60))
def test_no_agent_gets_more_than_the_limit_in_any_minute(requests: list[tuple[str, int]]):
    clock = Clock()
    limits, passed = limiter(clock), Counter[tuple[str, int]]()
    for agent, minute in sorted(requests, key=lambda request: request[1]):
        clock.now = minute * 60 + 30
        try:
            limits.take(scope(agent), "write")
        except RateLimited:
            assert passed[agent, minute] == 2
        else:
            passed[agent, minute] += 1
    assert all(number <= 2 for number in passed.values())
