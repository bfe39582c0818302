"""Turns the fp32 layers into int8 ones, layer by layer, watching what the calibration texts send through them."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from memex.embedder.models.build.bert import Bert, Doubles, Floats, Inputs, Layer, Linear, run_layer
from memex.embedder.models.build.rounding import Rounded, round_weight

# Share of the smoothing that follows the inputs' peaks rather than the weights'. The input of
# feed_out is left as it is: smoothing makes it worse.
ALPHA_QKV = 0.8
ALPHA_ATTENTION_OUT = 0.5
ALPHA_FEED_IN = 0.8
LEAST = 1e-5


class QuantLinear(msgspec.Struct, frozen=True):
    """`(x * input_scale) @ (codes * scale) + bias`; an `input_scale` of None is all ones, or folded elsewhere."""

    weight: Rounded
    bias: Floats
    input_scale: Floats | None = None


class QuantLayer(msgspec.Struct, frozen=True):
    """One layer with int8 weights. The query part of `qkv` carries the 1/√(head size) of the attention."""

    qkv: QuantLinear
    attention_out: QuantLinear
    feed_in: QuantLinear
    feed_out: QuantLinear


def quantise(bert: Bert, texts: Sequence[Sequence[int]], progress: Callable[[str, int, int], None]) -> list[QuantLayer]:
    """All layers, calibrated on `texts` (token ids)."""
    lengths = [len(text) for text in texts]
    hidden = bert.embed(texts)
    layers = []
    for number, layer in enumerate(bert.layers):
        progress("layers", number, len(bert.layers))
        inputs, hidden = run_layer(layer, hidden, lengths, bert.heads)
        layers.append(quantise_layer(layer, inputs, bert.heads))
    progress("layers", len(bert.layers), len(bert.layers))
    return layers


def quantise_layer(layer: Layer, inputs: Inputs, heads: int) -> QuantLayer:
    """One layer. The smoothing of attention_out goes into the value step, which makes that input."""
    shift = smoothing(inputs.attention_out, layer.attention_out.weight, ALPHA_ATTENTION_OUT)
    joined = join(layer, shift)
    return QuantLayer(
        qkv=scale_query(quantise_linear(joined, inputs.qkv, smoothing(inputs.qkv, joined.weight, ALPHA_QKV)), heads),
        attention_out=folded(quantise_linear(layer.attention_out, inputs.attention_out, shift)),
        feed_in=quantise_linear(
            layer.feed_in, inputs.feed_in, smoothing(inputs.feed_in, layer.feed_in.weight, ALPHA_FEED_IN)
        ),
        feed_out=folded(quantise_linear(layer.feed_out, inputs.feed_out, np.ones_like(layer.feed_in.bias))),
    )


def smoothing(x: Floats, weight: Floats, alpha: float) -> Floats:
    """What each input is divided by, so that peaks move from the inputs into the weights; geometric mean 1."""
    peaks = np.maximum(np.abs(x).max(0), LEAST).astype(np.float64)
    reach = np.maximum(np.abs(weight).max(1), LEAST).astype(np.float64)
    shift = peaks**alpha / reach ** (1.0 - alpha)
    return np.asarray(np.clip(shift / np.exp(np.log(shift).mean()), 1e-3, 1e3), np.float32)


def join(layer: Layer, shift: Floats) -> Linear:
    """Query, key and value as one step, the value divided by `shift`."""
    parts = (layer.query, layer.key, Linear(layer.value.weight / shift, layer.value.bias / shift))
    return Linear(np.concatenate([p.weight for p in parts], 1), np.concatenate([p.bias for p in parts]))


def quantise_linear(linear: Linear, x: Floats, shift: Floats) -> QuantLinear:
    """One step whose inputs are divided by `shift` before they are rounded."""
    wide = shift.astype(np.float64)
    weight = round_weight(linear.weight.astype(np.float64) * wide[:, None], moments(x) / np.outer(wide, wide))
    return QuantLinear(weight, linear.bias, np.float32(1.0) / shift)


def folded(linear: QuantLinear) -> QuantLinear:
    """The same step where whoever makes its input has divided already."""
    return QuantLinear(linear.weight, linear.bias)


def moments(x: Floats) -> Doubles:
    """`xᵀx` in float64."""
    wide = x.astype(np.float64)
    return wide.T @ wide


def scale_query(linear: QuantLinear, heads: int) -> QuantLinear:
    """The query third multiplied by 1/√(head size), in scale and bias, so that attention needs no division."""
    width = len(linear.bias) // 3
    factor = np.ones_like(linear.bias)
    factor[:width] = 1.0 / np.sqrt(width // heads)
    weight = Rounded(linear.weight.codes, linear.weight.scale * factor, linear.weight.loss)
    return QuantLinear(weight, linear.bias * factor, linear.input_scale)
