"""The packaged model against the fp32 vectors of its public origin, on our own sentences."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memex.embedder.models import ModelDirectory, open_model
from tests.oracles import golden
from tests.oracles.encoder import Encoder

Vectors = NDArray[np.float32]
MAX_BYTES = 45_000_000
SCORE_ERROR = 0.01
"""Most that 8-bit weights may move a cosine."""


@pytest.fixture(scope="module")
def model() -> ModelDirectory:
    return open_model("e5-small-v2")


@pytest.fixture(scope="module")
def ids(model: ModelDirectory) -> list[list[int]]:
    return golden.token_ids(Tokenizer.from_file(str(model.tokenizer)))


@pytest.fixture(scope="module")
def session(model: ModelDirectory) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(model.graph), options)


@pytest.fixture(scope="module")
def native(model: ModelDirectory, ids: list[list[int]]) -> Vectors:
    assert model.weights is not None
    encoder = Encoder(model.weights)
    return np.stack([encoder(text) for text in ids])


@pytest.fixture(scope="module")
def runtime(session: onnxruntime.InferenceSession, ids: list[list[int]]) -> Vectors:
    return np.concatenate([run(session, [text]) for text in ids])


def run(session: onnxruntime.InferenceSession, ids: list[list[int]]) -> Vectors:
    tokens = np.array(ids, np.int64)
    feed: dict[str, Any] = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
    return np.asarray(session.run(None, feed)[0])


def test_the_native_arithmetic_is_near_fp32(native: Vectors) -> None:
    cosines = (native * golden.vectors()).sum(1)
    assert cosines.min() >= 0.9993
    assert cosines.mean() >= 0.9997


def test_onnxruntime_is_near_fp32(runtime: Vectors) -> None:
    assert (runtime * golden.vectors()).sum(1).min() >= 0.9995


def test_both_engines_are_interchangeable(native: Vectors, runtime: Vectors) -> None:
    assert (native * runtime).sum(1).min() >= 0.999


def test_vectors_have_length_one(runtime: Vectors) -> None:
    np.testing.assert_allclose(np.linalg.norm(runtime, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("length", [3, 4, 5, 8, 13, 16, 17, 33])
@pytest.mark.parametrize("size", [2, 7, 32])
def test_a_vector_has_the_same_bits_alone_and_in_any_batch_of_its_length(
    session: onnxruntime.InferenceSession, ids: list[list[int]], length: int, size: int
) -> None:
    long = ids[-1]
    batch = [[long[0], *long[start : start + length - 2], long[-1]] for start in range(1, 1 + size)]
    alone = np.concatenate([run(session, [text]) for text in batch])
    together = run(session, batch)
    np.testing.assert_array_equal(together.view(np.uint32), alone.view(np.uint32))
    np.testing.assert_array_equal(run(session, batch[::-1])[::-1].view(np.uint32), alone.view(np.uint32))


@pytest.mark.parametrize("engine", ["native", "runtime"])
def test_the_best_passages_are_those_of_fp32(request: pytest.FixtureRequest, engine: str) -> None:
    sentences, exact = golden.sentences(), golden.vectors()
    found: Vectors = request.getfixturevalue(engine)
    queries = [number for number, text in enumerate(sentences) if text.startswith("query: ")]
    passages = [number for number, text in enumerate(sentences) if text.startswith("passage: ")]
    scores = found[queries] @ found[passages].T
    truth = exact[queries] @ exact[passages].T
    assert np.abs(scores - truth).max() < SCORE_ERROR
    second, best = np.sort(truth, 1)[:, -2:].T
    # Of a question that none of the passages answers, which of two strangers is nearer is within the error.
    answered = best - second > SCORE_ERROR
    assert answered.sum() >= 5
    assert scores[answered].argmax(1).tolist() == truth[answered].argmax(1).tolist()


def test_the_model_is_small_enough_to_be_in_the_package(model: ModelDirectory) -> None:
    assert sum(file.stat().st_size for file in model.path.iterdir()) <= MAX_BYTES


def test_the_card_says_how_the_model_is_used(model: ModelDirectory) -> None:
    card = model.card
    assert (card.name, card.dimensions, card.window, card.pooling) == ("e5-small-v2", 384, 512, "mean")
    assert (card.query_prefix, card.passage_prefix) == ("query: ", "passage: ")
    assert (card.floor, card.ceiling, card.licence) == (0.70, 0.95, "MIT")
