"""One text, one run: the packaged model with onnxruntime's defaults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bench.reference.encoding import MODEL, PASSAGE, QUERY, Encoder, mean, tokenizer_of, unit


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


def test_vectors_are_of_unit_length_and_an_answer_is_nearer_than_another_text(encoder: Encoder):
    (query,) = encoder.encode([QUERY + "Where does she live now?"])
    (answer,) = encoder.encode([PASSAGE + "She moved to Vienna in spring."])
    (other,) = encoder.encode([PASSAGE + "The build of the parser is green."])
    assert [vector.shape for vector in (query, answer, other)] == [(384,)] * 3
    assert np.linalg.norm([query, answer, other], axis=1) == pytest.approx(1, abs=1e-5)
    assert query @ answer > query @ other


def test_a_text_longer_than_the_window_is_cut(encoder: Encoder):
    (whole,) = encoder.encode([PASSAGE + "word " * 600])
    (longer,) = encoder.encode([PASSAGE + "word " * 900])
    assert np.array_equal(whole, longer)


def test_a_tokenizer_lies_beside_its_model(tmp_path):
    assert tokenizer_of(MODEL).exists()
    own = tmp_path / "small-q-tokenizer.json"
    own.touch()
    assert tokenizer_of(tmp_path / "small-q.onnx") == own


@given(arrays.arrays(np.float32, (2, 5, 3), elements=st.floats(-4, 4, width=32)), st.integers(1, 5))
def test_only_real_tokens_enter_the_mean(hidden: np.ndarray, tokens: int):
    mask = np.array([[1] * tokens + [0] * (5 - tokens), [1] * 5])
    expected = [hidden[0, :tokens].astype(np.float64).mean(axis=0), hidden[1].astype(np.float64).mean(axis=0)]
    assert np.allclose(mean(hidden, mask), expected, atol=1e-5)


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(0.125, 8, width=32)))
def test_rows_are_scaled_to_length_one_in_their_direction(rows: np.ndarray):
    scaled = unit(rows)
    assert np.allclose(np.linalg.norm(scaled.astype(np.float64), axis=1), 1, atol=1e-6)
    assert np.allclose(scaled * np.linalg.norm(rows, axis=1, keepdims=True), rows, rtol=1e-5)
