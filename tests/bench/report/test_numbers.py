"""Numbers keep their value, and no more digits than they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.pairs import Interval
from bench.report.numbers import duration, listed, number, scalar, spread

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def parsed(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345, "12,345"),
        (12345.6, "12,346"),
        (212.4, "212"),
        (21.26, "21.3"),
        (2.126, "2.13"),
        (0.7129, "0.713"),
        (0.05, "0.05"),
        (0.99962, "0.99962"),
        (0.0, "0"),
        (-3.14159, "−3.14"),
        (float("nan"), "–"),
        (True, "yes"),
        (None, "–"),
    ],
)
def test_as_people_read_them(value: object, text: str):
    assert scalar(value) == text


@given(st.floats(min_value=1e-4, max_value=1e12) | st.floats(min_value=-1e12, max_value=-1e-4))
def test_three_digits_are_right(value: float):
    assert parsed(number(value)) == pytest.approx(value, rel=5.1e-3)


@given(st.floats(min_value=1e-9, max_value=1e4))
def test_durations_keep_their_value(seconds: float):
    value, unit = duration(seconds).split()
    assert parsed(value) * UNITS[unit] == pytest.approx(seconds, rel=5.1e-3)


def test_an_interval_has_the_digits_of_its_most_exact_number():
    assert spread(Interval(1.034, 0.994, 1.05)) == "1.034 [0.994, 1.050]"


def test_lists_in_words():
    assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
