"""The compiled encoder on the packaged model: near fp32, and a text's vector is a function of the text alone."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file, save_file

from memex import _native
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model
from memex.embedder.native import NativeEncoder, is_fast
from memex.embedder.onnx import OnnxEncoder
from memex.embedder.vectors import unit
from memex.errors import EncoderFailed
from tests.fakes import PATIENCE
from tests.oracles import golden
from tests.oracles.encoder import Encoder as Oracle
from tests.oracles.encoder import metadata

pytestmark = pytest.mark.skipif(not is_fast(), reason="the scalar path is too slow for a model of this size")


@pytest.fixture(scope="module")
def directory():
    return open_model("e5-small-v2")


@pytest.fixture(scope="module")
def encoder(directory):
    return NativeEncoder(directory.weights, directory.card, streams=2)


@pytest.fixture(scope="module")
def ids(directory):
    return golden.token_ids(open_tokenizer(directory.tokenizer))


def sequences(lengths: list[int], seed: int = 1) -> list[list[int]]:
    """Token sequences such as any text may become."""
    random = np.random.default_rng(seed)
    return [[101, *random.integers(1000, 30_000, max(length - 2, 0)).tolist(), 102][:length] for length in lengths]


def bits(rows: Any) -> Any:
    return np.asarray(rows).view(np.uint32)


def alone(encoder: NativeEncoder, texts: list[list[int]]) -> Any:
    return bits(np.concatenate([encoder.encode([text]) for text in texts]))


def test_vectors_are_near_those_of_fp32(encoder, ids):
    cosines = (encoder.encode(ids) * golden.vectors()).sum(1)
    assert cosines.min() >= 0.9993
    assert cosines.mean() >= 0.9997


def test_both_engines_are_interchangeable(encoder, directory, ids):
    runtime = OnnxEncoder(directory.graph, directory.card.pooling, streams=1)
    for text, vector in zip(ids, encoder.encode(ids), strict=True):
        assert float(runtime.encode([text])[0] @ vector) >= 0.999


def test_vectors_are_near_those_of_the_oracle(encoder, directory, ids):
    """Rounding to codes makes small differences large: after twelve layers they are as large as the rounding."""
    oracle = Oracle(directory.weights)
    cosines = [float(oracle(text) @ vector) for text, vector in zip(ids[:12], encoder.encode(ids[:12]), strict=True)]
    assert min(cosines) >= 0.9997


def test_one_layer_is_that_of_the_oracle(tmp_path, directory, ids):
    path = tmp_path / "model.safetensors"
    save_file(load_file(directory.weights), path, metadata(directory.weights) | {"layers": "1"})
    found = NativeEncoder(path, directory.card, streams=1).encode(ids)
    oracle = Oracle(path)
    cosines = (found * np.stack([oracle(text) for text in ids])).sum(1)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 7, 32, 64])
def test_a_vector_is_the_same_alone_in_any_batch_order_and_company(encoder, size):
    lengths = np.random.default_rng(size).integers(2, 60, size).tolist()
    texts = sequences(lengths, seed=size)
    expected = alone(encoder, texts)
    assert np.array_equal(bits(encoder.encode(texts)), expected)
    assert np.array_equal(bits(encoder.encode(texts[::-1]))[::-1], expected)
    strangers = sequences([200, 3, 31], seed=99)
    assert np.array_equal(bits(encoder.encode([*strangers, *texts]))[3:], expected)


def test_texts_of_equal_length_are_the_same_as_well(encoder):
    texts = sequences([13] * 64)
    assert np.array_equal(bits(encoder.encode(texts)), alone(encoder, texts))


def test_every_length_up_to_the_window_has_a_unit_vector(encoder):
    lengths = [1, 2, 13, 14, 15, 16, 17, 28, 29, 56, 57, 111, 112, 113, 223, 224, 225, 256, 257, 509, 510, 511, 512]
    texts = sequences(lengths)
    together = encoder.encode(texts)
    assert np.array_equal(bits(together), alone(encoder, texts))
    assert all(unit(row).shape == (384,) for row in together)
    with pytest.raises(EncoderFailed):
        encoder.encode(sequences([513]))


def test_odd_token_lists_have_unit_vectors(encoder):
    odd = [[0], [100], [101, 102], [101] + [100] * 40 + [102], [30_521] * 512, [0] * 512, [101, 1037, 102] * 150]
    assert all(unit(row).shape == (384,) for row in encoder.encode(odd))


def test_threads_give_the_same_bits(encoder):
    texts = sequences([12, 40, 7, 130])
    expected = bits(encoder.encode(texts))
    barrier = threading.Barrier(2, timeout=PATIENCE)
    found: list[Any] = []

    def run() -> None:
        barrier.wait()
        found.extend(np.array_equal(bits(encoder.encode(texts)), expected) for _ in range(5))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == [True] * 10


@pytest.fixture
def no_forced_switches():
    """Threads get the interpreter only when another one gives it away."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("no_forced_switches")
def test_the_interpreter_is_released_while_a_batch_runs(encoder):
    texts = sequences([512] * 8)
    begun, over = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        encoder.encode(texts)
        over.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(PATIENCE)
    # Only inside of `encode` can this thread have come to run again.
    assert not over.is_set()
    thread.join(PATIENCE)
    assert over.is_set()


def test_another_process_gives_the_same_bits(encoder, directory):
    texts = sequences([9, 33])
    program = (
        "import json, sys; from memex import _native; path, texts = json.load(sys.stdin); "
        "sys.stdout.buffer.write(_native.Encoder(path, 'mean').encode(texts))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([str(directory.weights), texts]).encode(),
        capture_output=True,
        check=True,
        timeout=PATIENCE,
        cwd=Path(__file__).parents[3],
    )
    assert run.stdout == encoder.encode(texts).tobytes()


def test_memory_does_not_grow_with_calls(encoder):
    process = psutil.Process()
    encoder.encode(sequences([512, 1, 300]))
    before = process.memory_info().rss
    for seed in range(60):
        lengths = np.random.default_rng(seed).integers(1, 90, 8).tolist()
        encoder.encode(sequences([*lengths, 512 if seed % 20 == 0 else 1], seed))
    assert process.memory_info().rss - before < 4_000_000


def test_the_model_and_a_stream_take_the_memory_that_the_readme_says(directory):
    compiled = _native.Encoder(directory.weights, "mean")
    assert (round(compiled.bytes / 1e6), round(compiled.stream_bytes / 1e6, 1)) == (34, 5.2)
