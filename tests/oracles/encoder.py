"""The native encoder's arithmetic in NumPy: what any implementation of the weights file must come to.

Every linear step sees its input rounded for each token to unsigned 8-bit codes with a zero point,
`x ≈ step · (code - zero)`; products are summed as integers. Attention sees queries and keys rounded to 8 bits, values
and shares to integers of up to 14. Everything else is float32.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Floats = NDArray[np.float32]

PANEL = 32
MOST_OF_QUERY, STEPS_OF_KEY, MOST_OF_VALUE, MOST_OF_SHARE = 127, 254, 2047, 8192


class Encoder:
    """A weights file, and the vectors it gives for token ids."""

    def __init__(self, path: Path, pooling: str = "mean") -> None:
        self.tensors: dict[str, NDArray[Any]] = load_file(path)
        facts = metadata(path)
        self.layers, self.heads = int(facts["layers"]), int(facts["heads"])
        self.epsilon = np.float32(facts["epsilon"])
        self.pooling = pooling

    def __call__(self, ids: Sequence[int]) -> Floats:
        """One text's vector, float32 [dimensions], of length 1."""
        hidden = self.norm("embeddings.norm", self.embed(np.asarray(ids)))
        for number in range(self.layers):
            name = f"layers.{number}"
            mixed = self.attention(self.linear(f"{name}.qkv", hidden))
            middle = self.norm(f"{name}.attention_norm", hidden + self.linear(f"{name}.attention_out", mixed))
            wide = gelu(self.linear(f"{name}.feed_in", middle))
            hidden = self.norm(f"{name}.feed_norm", middle + self.linear(f"{name}.feed_out", wide))
        total = hidden[0] if self.pooling == "cls" else hidden.sum(0)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def embed(self, ids: NDArray[Any]) -> Floats:
        """Words plus positions, [tokens, dimensions]."""
        return self.rows("embeddings.words", ids) + self.rows("embeddings.positions", np.arange(len(ids)))

    def rows(self, table: str, index: NDArray[Any]) -> Floats:
        """Rows of a table as floats."""
        scale = self.tensors[f"{table}.scale"][index]
        return np.asarray(self.tensors[table][index] * scale[:, None], np.float32)

    def linear(self, name: str, x: Floats) -> Floats:
        """One linear step on quantised inputs, [tokens, inputs] to [tokens, outputs]."""
        weight, scale, bias = (self.tensors[f"{name}.{part}"] for part in ("weight", "scale", "bias"))
        codes, step, zero = round_inputs(x * self.tensors.get(f"{name}.input_scale", np.float32(1)))
        # Integer sums below 2⁵³ are exact in float64, and BLAS is much faster than integer products.
        sums = ((codes - zero) @ weight.astype(np.float64)).astype(np.float32)
        return np.asarray(step * sums * scale + bias, np.float32)

    def attention(self, qkv: Floats) -> Floats:
        """Heads side by side, of rounded numbers; the query has been divided by the root of the head size."""
        query, key, value = qkv.astype(np.float64).reshape(len(qkv), 3, self.heads, -1).transpose(1, 2, 0, 3)
        scores = round_queries(query) @ round_keys(key).transpose(0, 2, 1)
        shares = np.rint(MOST_OF_SHARE * np.exp(scores - scores.max(-1, keepdims=True)))
        mixed = shares / shares.sum(-1, keepdims=True) @ round_values(value)
        return np.asarray(mixed.transpose(1, 0, 2).reshape(len(qkv), -1), np.float32)

    def norm(self, name: str, x: Floats) -> Floats:
        """Layer normalisation."""
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(-1, keepdims=True) + self.epsilon)
        return np.asarray(centred / deviation * self.tensors[f"{name}.gamma"] + self.tensors[f"{name}.beta"])


def round_inputs(x: Floats) -> tuple[NDArray[np.float64], Floats, NDArray[np.float64]]:
    """Codes [tokens, inputs], and step and code of 0 of each token, [tokens, 1]."""
    low, high = x.min(-1, keepdims=True, initial=0), x.max(-1, keepdims=True, initial=0)
    step = np.maximum((high - low) / np.float32(254), np.float32(1e-12))
    zero = np.ceil(-low / step).astype(np.float64)
    return np.clip(np.rint(x / step + zero), 0, 255), step, zero


def round_queries(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Queries [heads, tokens, size] rounded so that the largest of each head is so many steps."""
    step = np.maximum(np.abs(x).max((-2, -1), keepdims=True) / MOST_OF_QUERY, 1e-12)
    return np.asarray(np.rint(x / step) * step)


def round_keys(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys [heads, tokens, size], rounded less the middle of each dimension: so much all scores have in common."""
    low, high = x.min(-2, keepdims=True), x.max(-2, keepdims=True)
    step = np.maximum((high - low).max(-1, keepdims=True) / STEPS_OF_KEY, 1e-12)
    return np.asarray(np.rint((x - (low + high) / 2) / step) * step)


def round_values(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values [heads, tokens, size] rounded so that the largest of each 32 columns is so many steps."""
    panels = [x[..., start : start + PANEL] for start in range(0, x.shape[-1], PANEL)]
    steps = [np.maximum(np.abs(panel).max((-2, -1), keepdims=True) / MOST_OF_VALUE, 1e-12) for panel in panels]
    return np.concatenate([np.rint(panel / step) * step for panel, step in zip(panels, steps, strict=True)], -1)


def gelu(x: Floats) -> Floats:
    """`x · Φ(x)`, by the error function of Abramowitz and Stegun 7.1.26 (within 1.5e-7)."""
    z = x.astype(np.float64) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * np.abs(z))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(x * (0.5 + 0.5 * np.sign(z) * (1 - series * np.exp(-z * z))), np.float32)


def metadata(path: Path) -> dict[str, str]:
    """The facts in the header of a weights file."""
    with path.open("rb") as file:
        header: dict[str, dict[str, str]] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header["__metadata__"]
