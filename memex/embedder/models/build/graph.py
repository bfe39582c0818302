"""The ONNX graph of a quantised encoder. It holds no weight: each is a place in the weights file.

    input_ids, attention_mask   int64 [batch, tokens]
    embedding                   float32 [batch, dimensions], pooled over the mask, length 1

Between the embedding and the pooling everything is [batch * tokens, dimensions], so that a row's
arithmetic does not depend on the rows beside it.
"""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from memex.embedder.models.build.weights import Place, Tensors

OPSET = 23
IR_VERSION = 11
KINDS = {"int8": TensorProto.INT8, "float32": TensorProto.FLOAT}


INPUTS = ("input_ids", "attention_mask")


class Shape(msgspec.Struct, frozen=True):
    """What the graph has to know beside the tensors."""

    layers: int
    heads: int
    dimensions: int
    epsilon: float
    pooling: str


class Graph:
    """A graph in the making: each method adds one step and gives the name of what it made."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One node with one output."""
        return self.add_many(kind, 1, *inputs, **attributes)[0]

    def add_many(self, kind: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """One node with several outputs."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        outputs = [f"{name}.{number}" if count > 1 else name for number in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), outputs, name=name, **attributes))
        return outputs

    def integers(self, *values: int) -> str:
        """A constant list of int64."""
        return self.constant(np.array(values, np.int64))

    def integer(self, value: int) -> str:
        """A constant int64."""
        return self.constant(np.array(value, np.int64))

    def constant(self, value: NDArray[np.int64]) -> str:
        """A small constant inside the graph."""
        name = f"constant_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def linear(self, name: str, x: str, *, smoothed: bool) -> str:
        """One linear step over rows; `smoothed` multiplies the input first."""
        if smoothed:
            x = self.add("Mul", x, f"{name}.input_scale")
        weight = self.add("DequantizeLinear", f"{name}.weight", f"{name}.scale", axis=1)
        return self.add("Add", self.add("MatMul", x, weight), f"{name}.bias")

    def norm(self, name: str, x: str, epsilon: float) -> str:
        """Layer normalisation of rows."""
        return self.add("LayerNormalization", x, f"{name}.gamma", f"{name}.beta", axis=-1, epsilon=epsilon)

    def rows(self, table: str, index: str) -> str:
        """Rows of a quantised table; only those that are needed are made floats."""
        codes = self.add("Cast", self.add("Gather", table, index), to=TensorProto.FLOAT)
        scale = self.add("Unsqueeze", self.add("Gather", f"{table}.scale", index), self.integers(-1))
        return self.add("Mul", codes, scale)


def build_graph(tensors: Tensors, places: dict[str, Place], file: str, shape: Shape) -> bytes:
    """The serialised model; `file` is the name of the weights file beside it."""
    graph = Graph()
    body(graph, shape)
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in INPUTS]
    vector = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", shape.dimensions])
    weights = [external(name, tensor, places[name], file) for name, tensor in tensors.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "encoder", ids, [vector], weights + graph.tensors),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="memex",
    )
    return bytes(model.SerializeToString(deterministic=True))


def external(name: str, tensor: NDArray[Any], place: Place, file: str) -> Any:
    """A tensor that lies in the weights file."""
    proto = TensorProto(name=name, data_type=KINDS[str(tensor.dtype)], dims=tensor.shape)
    proto.data_location = TensorProto.EXTERNAL
    for key, value in (("location", file), ("offset", place.offset), ("length", place.length)):
        proto.external_data.add(key=key, value=str(value))
    return proto


def body(graph: Graph, shape: Shape) -> None:
    """All nodes from the ids to the vector."""
    extent = graph.add("Shape", "input_ids")
    seen = visible(graph, extent)
    hidden = embed(graph, extent, shape)
    for number in range(shape.layers):
        name = f"layers.{number}"
        mixed = attention(graph, graph.linear(f"{name}.qkv", hidden, smoothed=True), (extent, seen), shape)
        added = graph.add("Add", hidden, graph.linear(f"{name}.attention_out", mixed, smoothed=False))
        middle = graph.norm(f"{name}.attention_norm", added, shape.epsilon)
        wide = graph.add("Gelu", graph.linear(f"{name}.feed_in", middle, smoothed=True))
        added = graph.add("Add", middle, graph.linear(f"{name}.feed_out", wide, smoothed=False))
        hidden = graph.norm(f"{name}.feed_norm", added, shape.epsilon)
    pool(graph, hidden, extent, shape)


def visible(graph: Graph, extent: str) -> str:
    """Which token may look at which, bool [batch, 1, tokens, tokens]: at all that the mask shows."""
    texts, tokens = (graph.add("Gather", extent, graph.integers(axis), axis=0) for axis in (0, 1))
    square = graph.add("Concat", texts, graph.integers(1), tokens, tokens, axis=0)
    mask = graph.add("Cast", "attention_mask", to=TensorProto.BOOL)
    return graph.add("Expand", graph.add("Unsqueeze", mask, graph.integers(1, 2)), square)


def embed(graph: Graph, extent: str, shape: Shape) -> str:
    """Words plus positions, normalised, as rows."""
    tokens = graph.add("Gather", extent, graph.integer(1), axis=0)
    places = graph.add("Range", graph.integer(0), tokens, graph.integer(1))
    words = graph.rows("embeddings.words", "input_ids")
    joined = graph.add("Add", words, graph.rows("embeddings.positions", places))
    rows = graph.add("Reshape", joined, graph.integers(-1, shape.dimensions))
    return graph.norm("embeddings.norm", rows, shape.epsilon)


def attention(graph: Graph, qkv: str, view: tuple[str, str], shape: Shape) -> str:
    """Each text for itself; rows in, rows out. The query is scaled already."""
    extent, seen = view
    texts = graph.add("Concat", extent, graph.integers(shape.dimensions), axis=0)
    thirds = graph.add_many("Split", 3, qkv, axis=1, num_outputs=3)
    query, key, value = (graph.add("Reshape", third, texts) for third in thirds)
    heads = {"q_num_heads": shape.heads, "kv_num_heads": shape.heads}
    mixed = graph.add("Attention", query, key, value, seen, scale=1.0, **heads)
    return graph.add("Reshape", mixed, graph.integers(-1, shape.dimensions))


def pool(graph: Graph, hidden: str, extent: str, shape: Shape) -> None:
    """One vector of length 1 a text. A sum points where the mean does, so it is not divided."""
    texts = graph.add("Reshape", hidden, graph.add("Concat", extent, graph.integers(shape.dimensions), axis=0))
    if shape.pooling == "cls":
        vector = graph.add("Gather", texts, graph.integer(0), axis=1)
    else:
        # A product, because a ReduceSum over the tokens adds up in another order when the batch is one text.
        mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        product = graph.add("MatMul", graph.add("Unsqueeze", mask, graph.integers(1)), texts)
        vector = graph.add("Squeeze", product, graph.integers(1))
    length = graph.add("ReduceL2", vector, graph.integers(-1), keepdims=1)
    graph.nodes.append(helper.make_node("Div", [vector, length], ["embedding"], name="embedding"))
