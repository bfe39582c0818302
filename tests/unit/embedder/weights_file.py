"""Weights files with random numbers, for models of any shape."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from memex.embedder.models.build.weights import LAYOUT
from memex.embedder.models.card import Card


class Shape(NamedTuple):
    """The sizes of a model."""

    vocabulary: int
    window: int
    heads: int
    size: int
    width: int
    layers: int

    @property
    def dimensions(self) -> int:
        return self.heads * self.size


def tensors(shape: Shape, seed: int) -> dict[str, NDArray[Any]]:
    """Every tensor of the file, in numbers such as trained models have."""
    random = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}

    def matrix(name: str, rows: int, columns: int, scale_name: str, scales: int, scale: float) -> None:
        found[name] = random.integers(-127, 128, (rows, columns)).astype(np.int8)
        found[scale_name] = random.uniform(scale / 2, scale, scales).astype(np.float32)

    def norm(name: str) -> None:
        found[f"{name}.gamma"] = random.uniform(0.5, 1.5, shape.dimensions).astype(np.float32)
        found[f"{name}.beta"] = random.uniform(-0.5, 0.5, shape.dimensions).astype(np.float32)

    words, places = "embeddings.words", "embeddings.positions"
    matrix(words, shape.vocabulary, shape.dimensions, f"{words}.scale", shape.vocabulary, 0.01)
    matrix(places, shape.window, shape.dimensions, f"{places}.scale", shape.window, 0.002)
    norm("embeddings.norm")
    for layer in range(shape.layers):
        for name, inputs, outputs in linear_steps(shape):
            step = f"layers.{layer}.{name}"
            matrix(f"{step}.weight", inputs, outputs, f"{step}.scale", outputs, 0.02 / inputs**0.5)
            found[f"{step}.bias"] = random.uniform(-0.1, 0.1, outputs).astype(np.float32)
        for name in ("qkv", "feed_in"):
            found[f"layers.{layer}.{name}.input_scale"] = random.uniform(0.5, 2, shape.dimensions).astype(np.float32)
        norm(f"layers.{layer}.attention_norm")
        norm(f"layers.{layer}.feed_norm")
    return found


def linear_steps(shape: Shape) -> list[tuple[str, int, int]]:
    """Names, inputs and outputs of a layer's linear steps."""
    dimensions, width = shape.dimensions, shape.width
    return [
        ("qkv", dimensions, 3 * dimensions),
        ("attention_out", dimensions, dimensions),
        ("feed_in", dimensions, width),
        ("feed_out", width, dimensions),
    ]


def write(path: Path, shape: Shape, seed: int = 0) -> Path:
    """A sound file."""
    facts = {"layout": LAYOUT, "layers": str(shape.layers), "heads": str(shape.heads), "epsilon": "1e-12"}
    save_file(tensors(shape, seed), path, facts)
    return path


def card(shape: Shape, pooling: str = "mean") -> Card:
    """The card that goes with it."""
    return Card(
        name="random",
        revision="0" * 16,
        dimensions=shape.dimensions,
        pooling="cls" if pooling == "cls" else "mean",
        window=shape.window,
        query_prefix="",
        passage_prefix="",
        floor=0.0,
        ceiling=1.0,
        licence="none",
        files={},
        provenance={},
    )
