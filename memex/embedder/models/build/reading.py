"""Reads a BERT-like encoder out of its public ONNX export."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from memex.embedder.models.build.bert import Bert, Floats, Layer, Linear, Norm
from memex.errors import ModelDamaged

WORDS = "embeddings.word_embeddings.weight"


def read_bert(path: Path, window: int | None = None) -> Bert:
    """The encoder in an ONNX file, with all sizes from the graph. Raises ModelDamaged for another kind of graph.

    `window` is the most tokens of a text where its publisher allows fewer than there are positions.
    """
    export = Export(onnx.load(path).graph)
    types = export.tensor("embeddings.token_type_embeddings.weight")
    layers: list[Layer] = []
    while export.has(f"encoder.layer.{len(layers)}.attention.self.query.bias"):
        layers.append(read_layer(export, f"encoder.layer.{len(layers)}"))
    return Bert(
        words=export.tensor(WORDS),
        positions=export.tensor("embeddings.position_embeddings.weight")[:window] + types[0],
        norm=export.norm("embeddings.LayerNorm"),
        layers=layers,
        heads=layers[0].query.weight.shape[1] // export.head_size(),
    )


def read_layer(export: "Export", name: str) -> Layer:
    """One layer by the names that the published checkpoints share."""
    return Layer(
        query=export.linear(f"{name}.attention.self.query"),
        key=export.linear(f"{name}.attention.self.key"),
        value=export.linear(f"{name}.attention.self.value"),
        attention_out=export.linear(f"{name}.attention.output.dense"),
        attention_norm=export.norm(f"{name}.attention.output.LayerNorm"),
        feed_in=export.linear(f"{name}.intermediate.dense"),
        feed_out=export.linear(f"{name}.output.dense"),
        feed_norm=export.norm(f"{name}.output.LayerNorm"),
    )


class Export:
    """An ONNX graph whose biases and norms kept their names, while the weights have lost theirs."""

    def __init__(self, graph: Any) -> None:
        self.nodes = list(graph.node)
        self.maker = {output: node for node in self.nodes for output in node.output}
        self.tensors = {tensor.name: tensor for tensor in graph.initializer}
        # Some exports put the name of the outer module in front of every tensor.
        names = [name.removesuffix(WORDS) for name in self.tensors if name.endswith(WORDS)]
        if len(names) != 1:
            raise ModelDamaged(f"The graph is not a BERT-like encoder: it must hold one {WORDS}.")
        self.prefix = names[0]

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return self.prefix + name in self.tensors

    def tensor(self, name: str) -> Floats:
        """A named tensor in fp32."""
        if not self.has(name):
            raise ModelDamaged(f"The graph is not a BERT-like encoder: {name} is missing.")
        return self.value(self.prefix + name)

    def value(self, name: str) -> Floats:
        """A tensor by its full name; a Constant node counts as one."""
        if name in self.tensors:
            return numpy_helper.to_array(self.tensors[name]).astype(np.float32)
        return numpy_helper.to_array(self.maker[name].attribute[0].t).astype(np.float32)

    def is_constant(self, name: str) -> bool:
        """Whether a node's input is known without running the graph."""
        return name in self.tensors or (name in self.maker and self.maker[name].op_type == "Constant")

    def linear(self, name: str) -> Linear:
        """The step with this bias; its weight is the constant of the MatMul in front of the Add."""
        bias = self.prefix + name + ".bias"
        for node in self.nodes:
            if node.op_type == "Add" and bias in node.input:
                product = self.maker[next(other for other in node.input if other != bias)]
                return Linear(self.value(product.input[1]), self.tensor(name + ".bias"))
        raise ModelDamaged(f"The graph is not a BERT-like encoder: {name} is not followed by a bias.")

    def norm(self, name: str) -> Norm:
        """A layer normalisation by its name."""
        return Norm(self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), self.epsilon())

    def epsilon(self) -> float:
        """What is added to the variance; one value for all norms: an attribute, or the constant in front of a Sqrt."""
        for node in self.nodes:
            if node.op_type == "LayerNormalization":
                return float(next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5))
            if node.op_type == "Sqrt" and self.maker[node.input[0]].op_type == "Add":
                constants = [name for name in self.maker[node.input[0]].input if self.is_constant(name)]
                return float(self.value(constants[0]))
        raise ModelDamaged("The graph is not a BERT-like encoder: it has no layer normalisation.")

    def head_size(self) -> int:
        """From the constant that divides the attention scores, the root of the head size."""
        softmax = next((node for node in self.nodes if node.op_type == "Softmax"), None)
        node = self.maker[softmax.input[0]] if softmax else None
        if node is not None and node.op_type == "Add":
            node = self.maker[node.input[0]]
        if node is None or node.op_type != "Div" or not self.is_constant(node.input[1]):
            raise ModelDamaged("The graph is not a BERT-like encoder: its attention scores are not divided by a root.")
        return round(float(self.value(node.input[1])) ** 2)
