from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memex.embedder.vectors import Vector, mean, to_half, unit
from memex.errors import EncoderFailed

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
