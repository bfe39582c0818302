"""What is written down of the cosines."""

import msgspec
import numpy as np

from bench.noise import Noise
from bench.quality.fidelity import Row, joined, result
from memex.embedder.models import open_model


def test_the_least_and_the_mean_of_each_engine_are_recorded():
    first = Row("short", [5, 9], np.array([0.9, 1.0], np.float32), np.array([0.8, 1.0], np.float32))
    second = Row("long", [64], np.array([0.7], np.float32), np.array([1.0], np.float32))
    found = result(open_model("e5-small-v2"), [first, second, joined("all", [first, second])], 3, Noise())
    assert (found.question, found.variant, found.figures["moved_by_batch"]) == ("fidelity", "e5-small-v2", 3)
    assert found.figures["all"] == {
        "texts": 3,
        "tokens": [5, 64],
        "native": {"least_cosine": 0.7, "mean_cosine": 0.86667},
        "onnxruntime": {"least_cosine": 0.8, "mean_cosine": 0.93333},
    }
    assert msgspec.json.decode(msgspec.json.encode(found))["settings"]["batches"] == [2, 7, 32]
