from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file

from memex.embedder.models.build.weights import write


@pytest.fixture
def tensors() -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(0)
    return {
        "b.weight": random.integers(-127, 128, (16, 24)).astype(np.int8),
        "a.scale": random.normal(size=24).astype(np.float32),
        "odd": random.normal(size=(3, 5)).astype(np.float32),
        "a.codes": np.arange(7, dtype=np.int8),
    }


def test_the_format_s_own_reader_gives_the_same_tensors(tmp_path: Path, tensors: dict[str, NDArray[Any]]) -> None:
    write(tmp_path / "w.safetensors", tensors, {"heads": "4"})
    read = load_file(tmp_path / "w.safetensors")
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read[name], tensor, strict=True)
    with safe_open(tmp_path / "w.safetensors", "np") as file:
        assert file.metadata() == {"layout": "memex-encoder-1", "heads": "4"}


def test_places_are_those_of_the_bytes(tmp_path: Path, tensors: dict[str, NDArray[Any]]) -> None:
    places = write(tmp_path / "w.safetensors", tensors, {})
    data = (tmp_path / "w.safetensors").read_bytes()
    assert places["b.weight"].offset % 64 == 0
    for name, tensor in tensors.items():
        assert data[places[name].offset :][: places[name].length] == tensor.tobytes()
