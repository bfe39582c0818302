"""What is written down of the cosines and of the nearest texts."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.noise import Noise
from bench.quality.fidelity import NEAREST, Row, joined, nearest, result
from memex.embedder.models import open_model

Vectors = NDArray[np.float32]


def units(count: int, seed: int) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, 8))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def turned(vectors: Vectors, cosine: float) -> Vectors:
    """Each moved away from itself by that cosine."""
    aside = np.roll(vectors, 1, axis=1)
    aside -= (aside * vectors).sum(1, keepdims=True) * vectors
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    return np.asarray(cosine * vectors + np.sqrt(1 - cosine**2) * aside, np.float32)


def test_the_least_and_the_mean_of_each_engine_are_recorded():
    first, second = units(15, 1), units(5, 2)
    rows = [
        Row("short", [5] * 15, first, turned(first, 0.9), first),
        Row("long", [64] * 5, second, turned(second, 0.7), second),
    ]
    found = result(open_model("e5-small-v2"), [*rows, joined("all", rows)], 3, Noise())
    assert (found.question, found.variant, found.figures["moved_by_batch"]) == ("fidelity", "e5-small-v2", 3)
    everything = found.figures["all"]
    assert (everything["texts"], everything["tokens"]) == (20, [5, 64])
    assert abs(everything["native"]["least_cosine"] - 0.7) < 1e-5
    assert abs(everything["native"]["mean_cosine"] - 0.85) < 1e-5
    assert everything["native"][f"overlap@{NEAREST}"] < 1
    assert everything["onnxruntime"] == {"least_cosine": 1.0, "mean_cosine": 1.0, f"overlap@{NEAREST}": 1.0}
    assert msgspec.json.decode(msgspec.json.encode(found))["settings"]["batches"] == [2, 7, 32]


def test_the_nearest_are_others_by_their_cosine():
    vectors = units(30, 3)
    for at, found in enumerate(nearest(vectors)):
        by_cosine = sorted((n for n in range(30) if n != at), key=lambda n: -float(vectors[n] @ vectors[at]))
        assert set(found) == set(by_cosine[:NEAREST])
