import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from memex.embedder.models.build.bert import erf
from memex.embedder.models.build.rounding import LIMIT, choose_scale, nearest, round_rows, round_weight

FINITE: Any = st.floats(-100, 100, width=32)


def correlated(seed: int, inputs: int = 96) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inputs [tokens, inputs] that depend on each other, and a weight."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(400, inputs // 4)) @ random.normal(size=(inputs // 4, inputs))
    return x + 0.1 * random.normal(size=x.shape), random.normal(size=(inputs, 24))


@pytest.mark.parametrize("seed", range(5))
def test_the_outputs_are_nearer_than_with_plain_rounding(seed: int) -> None:
    x, weight = correlated(seed)
    rounded = round_weight(weight, x.T @ x)
    scale = choose_scale(weight, np.diag(x.T @ x))
    plain = nearest(weight, scale) * scale
    assert np.linalg.norm(x @ (weight - rounded.codes * rounded.scale)) < 0.7 * np.linalg.norm(x @ (weight - plain))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_the_share_of_the_outputs_lost(seed: int) -> None:
    x, weight = correlated(seed, inputs=130)
    rounded = round_weight(weight, x.T @ x)
    change = x @ (weight - rounded.codes * rounded.scale.astype(np.float64))
    assert rounded.loss == pytest.approx(np.square(change).sum() / np.square(x @ weight).sum(), rel=1e-6)


@given(codes=arrays(np.int8, (12, 5), elements=st.integers(-LIMIT, LIMIT)), shift=st.integers(-8, 2))
def test_weights_that_are_codes_already_stay(codes: NDArray[np.int8], shift: int) -> None:
    codes[0] = LIMIT
    rounded = round_weight(codes.astype(np.float64) * 2.0**shift, np.eye(12))
    np.testing.assert_array_equal(rounded.codes * rounded.scale, codes * np.float32(2.0**shift))


@given(arrays(np.float32, (4, 9), elements=FINITE))
def test_rows_are_off_by_half_a_step_at_most(table: NDArray[np.float32]) -> None:
    codes, scale = round_rows(table)
    assert np.all(np.abs(codes * scale[:, None] - table) <= scale[:, None] * 0.50001)


def test_an_output_without_weights_is_zero() -> None:
    rounded = round_weight(np.outer(np.ones(8), [0.0, 1.0, -2.0]), np.eye(8))
    assert rounded.codes[:, 0].tolist() == [0] * 8
    assert np.isfinite(rounded.scale).all()


@given(st.floats(-8, 8))
def test_erf_is_near_the_library_s(x: float) -> None:
    assert erf(np.array([x]))[0] == pytest.approx(math.erf(x), abs=2e-7)
