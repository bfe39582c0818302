"""The weights file: every tensor by name, in the safetensors format, byte for byte reproducible."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from memex.embedder.models.build.bert import Bert, Norm
from memex.embedder.models.build.quantising import QuantLayer, QuantLinear
from memex.embedder.models.build.rounding import round_rows

LAYOUT = "memex-encoder-1"
ALIGNMENT = 64
KINDS = {"int8": "I8", "float32": "F32"}

Tensors = dict[str, NDArray[Any]]


class Place(msgspec.Struct, frozen=True):
    """Where a tensor lies in the file."""

    offset: int
    length: int


def lay_out(bert: Bert, layers: list[QuantLayer]) -> Tensors:
    """All tensors in file order."""
    tensors: Tensors = {}
    add_norm(tensors, "embeddings.norm", bert.norm)
    for number, (layer, public) in enumerate(zip(layers, bert.layers, strict=True)):
        name = f"layers.{number}"
        add_linear(tensors, f"{name}.qkv", layer.qkv)
        add_linear(tensors, f"{name}.attention_out", layer.attention_out)
        add_norm(tensors, f"{name}.attention_norm", public.attention_norm)
        add_linear(tensors, f"{name}.feed_in", layer.feed_in)
        add_linear(tensors, f"{name}.feed_out", layer.feed_out)
        add_norm(tensors, f"{name}.feed_norm", public.feed_norm)
    # The tables come last: their scales are of odd length and would shift what follows off its alignment.
    tensors["embeddings.words"], words = round_rows(bert.words)
    tensors["embeddings.positions"], positions = round_rows(bert.positions)
    return tensors | {"embeddings.positions.scale": positions, "embeddings.words.scale": words}


def add_norm(tensors: Tensors, name: str, norm: Norm) -> None:
    """The affine of a layer normalisation."""
    tensors[f"{name}.gamma"] = norm.gamma
    tensors[f"{name}.beta"] = norm.beta


def add_linear(tensors: Tensors, name: str, linear: QuantLinear) -> None:
    """The codes and vectors of one linear step."""
    tensors[f"{name}.weight"] = linear.weight.codes
    tensors[f"{name}.scale"] = linear.weight.scale
    tensors[f"{name}.bias"] = linear.bias
    if linear.input_scale is not None:
        tensors[f"{name}.input_scale"] = linear.input_scale


def write(path: Path, tensors: Tensors, metadata: dict[str, str]) -> dict[str, Place]:
    """Writes the file and tells where each tensor is, from the start of the file.

    The safetensors package is not used: it writes metadata in a random order. The header is filled
    up with spaces, as the format allows, so that the first tensor starts at a multiple of 64 bytes.
    """
    header: dict[str, Any] = {"__metadata__": {"layout": LAYOUT, **dict(sorted(metadata.items()))}}
    end = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": KINDS[str(tensor.dtype)], "shape": list(tensor.shape)}
        header[name]["data_offsets"] = [end, end + tensor.nbytes]
        end += tensor.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-(len(head) + 8) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<")).tobytes())
    return places(header, 8 + len(head))


def places(header: dict[str, Any], base: int) -> dict[str, Place]:
    """The data offsets of a header as places in the file."""
    spans = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    return {name: Place(base + start, end - start) for name, (start, end) in spans.items()}
