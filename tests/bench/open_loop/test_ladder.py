"""The search for the highest rate."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.ladder import LEAST_RATE, TOLERANCE, Climb, Rung, bracket, following, holds


def climbed(capacity: float, first: float) -> list[Rung]:
    """The rungs of a service that holds every rate up to `capacity`."""
    rungs: list[Rung] = []
    while (rate := following(rungs, first)) is not None:
        rungs.append(Rung(rate, rate <= capacity))
    return rungs


@given(st.floats(LEAST_RATE, 50_000), st.floats(1, 500))
def test_it_finds_any_capacity_within_five_percent(capacity: float, first: float):
    rungs = climbed(capacity, first)
    found = Climb(rungs).capacity
    assert found <= capacity <= found * (1 + TOLERANCE)
    assert len(rungs) <= 25


@given(st.floats(1, 500))
def test_a_service_that_holds_nothing_ends_the_search(first: float):
    rungs = climbed(0.0, first)
    assert Climb(rungs).capacity == 0
    assert rungs[-1].rate <= LEAST_RATE


@given(st.lists(st.booleans(), min_size=30, max_size=30))
def test_it_ends_whatever_the_service_does(outcomes: list[bool]):
    """Rates that fail now and hold later, as on a machine that others use."""
    rungs: list[Rung] = []
    for held in [*outcomes, *[False] * 60]:
        if (rate := following(rungs, 50.0)) is None:
            break
        rungs.append(Rung(rate, held))
    assert following(rungs, 50.0) is None
    best, failed = bracket(rungs)
    assert failed is not None
    assert best < failed


def test_the_order_is_double_then_bisect():
    assert [rung.rate for rung in climbed(130, 50)][:5] == [50, 100, 200, 150, 125]


@pytest.mark.parametrize(
    ("figures", "held"),
    [
        ({"p99_ms": 100.0, "achieved_per_second": 98.0, "offered_per_second": 100.0}, True),
        ({"p99_ms": 100.1, "achieved_per_second": 100.0, "offered_per_second": 100.0}, False),
        # Fast refusals are no capacity.
        ({"p99_ms": 5.0, "achieved_per_second": 97.9, "offered_per_second": 100.0}, False),
        ({"achieved_per_second": 0.0, "offered_per_second": 100.0}, False),
    ],
)
def test_a_rung_holds_within_the_objective_and_with_nearly_all_accepted(figures: dict[str, Any], *, held: bool):
    assert holds(figures, 100.0) is held
