from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memex.embedder.vectors import Vector, mean, own, to_half, unit
from memex.errors import EncoderFailed, Invalid

numbers = st.floats(-1.0, 1.0, width=32)


def normal(values: Any) -> Vector:
    return np.asarray(values / np.linalg.norm(values), dtype=np.float32)


@given(arrays(np.float32, 24, elements=numbers).filter(lambda a: np.linalg.norm(a) > 1e-3))
def test_a_unit_row_is_copied_read_only_and_unchanged(values):
    batch = np.stack([normal(values), normal(values + 2)])
    vector = unit(batch[0])
    assert np.array_equal(vector, batch[0])
    assert not np.shares_memory(vector, batch)
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=64).filter(lambda values: max(map(abs, values)) > 1e-3),
    st.integers(-300, 300),
)
def test_a_callers_vector_of_any_length_is_its_direction(values: list[float], power: int):
    exact = np.array(values, dtype=np.longdouble)
    exact /= np.sqrt((exact * exact).sum())
    vector = own([value * 10.0**power for value in values], len(values))
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, exact.astype(np.float64), atol=2e-7)


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 3, [0.0, -0.0], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.nan]])
def test_a_callers_vector_without_a_direction_or_of_other_dimensions_is_refused_by_name(values: list[float]):
    with pytest.raises(Invalid) as refused:
        own(values, 2)
    (problem,) = refused.value.problems
    assert (problem.loc, problem.type) == (("body", "embedding"), "value_error")


def test_the_smallest_vector_has_a_direction():
    assert own([0.0, -5e-324], 2).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("spoiler", [np.nan, np.inf, -np.inf, 3e38, 0.5])
def test_a_row_that_is_not_finite_or_not_of_unit_length_is_refused(spoiler):
    row = normal(np.ones(8))
    row[3] = spoiler
    with pytest.raises(EncoderFailed):
        unit(row)


def test_the_zero_vector_is_refused():
    with pytest.raises(EncoderFailed):
        unit(np.zeros(8, np.float32))


@given(arrays(np.float32, (3, 24), elements=st.floats(0.0, 1.0, width=32)).filter(lambda a: a.sum(axis=1).min() > 0.1))
def test_the_mean_is_the_unit_direction_of_the_sum(values):
    rows = [normal(row) for row in values]
    total = np.sum(rows, axis=0, dtype=np.float64)
    np.testing.assert_allclose(mean(rows), total / np.linalg.norm(total), atol=1e-6)


def test_the_mean_of_opposites_is_refused():
    row = normal(np.ones(8))
    with pytest.raises(EncoderFailed):
        mean([row, -row])


def test_half_is_little_endian_f16():
    assert to_half(np.array([1.0, -0.5, 0.0], np.float32)) == bytes([0x00, 0x3C, 0x00, 0xB8, 0x00, 0x00])
