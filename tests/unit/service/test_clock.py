"""The database's clock as this process knows it."""

import pytest

from memex.service.clock import StoreClock

HOUR = 3_600_000_000


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """This machine's clock: nanoseconds that a test sets."""
    now = [1_760_000_000_123_456_789]
    monkeypatch.setattr("memex.service.clock.time.time_ns", lambda: now[0])
    return now


def test_it_is_the_machines_until_the_store_has_answered(machine: list[int]):
    assert StoreClock().now() == machine[0] // 1_000


@pytest.mark.parametrize("skew", [-24 * HOUR, -1, 0, 1, 24 * HOUR])
def test_it_follows_the_store_and_runs_on_between_its_answers(machine: list[int], skew: int):
    clock = StoreClock()
    clock.set(machine[0] // 1_000 + skew)
    assert clock.now() == machine[0] // 1_000 + skew
    machine[0] += 5_000_000_000
    assert clock.now() == machine[0] // 1_000 + skew
    clock.set(machine[0] // 1_000)
    assert clock.now() == machine[0] // 1_000
