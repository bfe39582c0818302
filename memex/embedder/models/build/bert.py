"""The weights of a BERT-like encoder in fp32, and its arithmetic for calibration."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
GELU_ROWS = 1024


class Linear(msgspec.Struct, frozen=True):
    """`x @ weight + bias`."""

    weight: Floats
    """[inputs, outputs]."""
    bias: Floats
    """[outputs]."""

    def __call__(self, x: Floats) -> Floats:
        """[tokens, inputs] to [tokens, outputs]."""
        return x @ self.weight + self.bias


class Norm(msgspec.Struct, frozen=True):
    """Layer normalisation over the last axis."""

    gamma: Floats
    beta: Floats
    epsilon: float

    def __call__(self, x: Floats) -> Floats:
        """Rows of mean 0 and variance 1, then the affine."""
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(self.epsilon))
        return np.asarray(centred / deviation * self.gamma + self.beta)


class Layer(msgspec.Struct, frozen=True):
    """One transformer layer, normalised after each residual."""

    query: Linear
    key: Linear
    value: Linear
    attention_out: Linear
    attention_norm: Norm
    feed_in: Linear
    feed_out: Linear
    feed_norm: Norm


class Bert(msgspec.Struct, frozen=True):
    """A whole encoder. Token types are folded into the positions: only type 0 exists here."""

    words: Floats
    """[vocabulary, dimensions]."""
    positions: Floats
    """[window, dimensions]."""
    norm: Norm
    layers: list[Layer]
    heads: int

    def embed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The first hidden state of all tokens of all texts, one below the other."""
        ids = np.concatenate([np.asarray(text, np.int64) for text in texts])
        places = np.concatenate([np.arange(len(text)) for text in texts])
        return self.norm(self.words[ids] + self.positions[places])


class Inputs(msgspec.Struct, frozen=True):
    """What goes into the four linear steps of a layer, [tokens, inputs] each."""

    qkv: Floats
    attention_out: Floats
    feed_in: Floats
    feed_out: Floats


def run_layer(layer: Layer, hidden: Floats, lengths: Sequence[int], heads: int) -> tuple[Inputs, Floats]:
    """One layer over texts of these lengths: what its linear steps saw, and the next hidden state."""
    mixed = attention(layer, hidden, lengths, heads)
    middle = layer.attention_norm(hidden + layer.attention_out(mixed))
    wide = gelu(layer.feed_in(middle))
    following = layer.feed_norm(middle + layer.feed_out(wide))
    return Inputs(hidden, mixed, middle, wide), following


def attention(layer: Layer, hidden: Floats, lengths: Sequence[int], heads: int) -> Floats:
    """Self-attention within each text, heads side by side, before the output step."""
    query, key, value = layer.query(hidden), layer.key(hidden), layer.value(hidden)
    mixed = np.empty_like(value)
    start = 0
    for length in lengths:
        rows = slice(start, start + length)
        q, k, v = (part[rows].reshape(length, heads, -1).transpose(1, 0, 2) for part in (query, key, value))
        weights = softmax(q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[-1])))
        mixed[rows] = (weights @ v).transpose(1, 0, 2).reshape(length, -1)
        start += length
    return mixed


def softmax(scores: Floats) -> Floats:
    """Over the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def gelu(x: Floats) -> Floats:
    """`x · Φ(x)`, in slices, because the double intermediate values are large."""
    result = np.empty_like(x)
    for start in range(0, len(x), GELU_ROWS):
        part = x[start : start + GELU_ROWS]
        result[start : start + GELU_ROWS] = part * (0.5 + 0.5 * erf(part.astype(np.float64) / np.sqrt(2.0)))
    return result


def erf(x: Doubles) -> Doubles:
    """The error function within 1.5e-7 (Abramowitz and Stegun 7.1.26), as near as fp32 can tell."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x))
    series = np.polyval([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0], t)
    return np.asarray(np.sign(x) * (1.0 - series * np.exp(-x * x)))
