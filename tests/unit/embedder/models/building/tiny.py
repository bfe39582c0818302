"""A BERT of two layers as an exporter writes it, with weights of our own and a vocabulary of our own letters."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

LAYERS, HEADS, WIDTH, FEED, WINDOW = 2, 4, 32, 64, 40
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
VOCABULARY = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]


class TinyExport:
    """Nodes and tensors under the names that published checkpoints share; weights are anonymous."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def tensor(self, name: str, value: NDArray[Any]) -> str:
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def noise(self, name: str, *shape: int, scale: float = 0.3, shift: float = 0.0) -> str:
        return self.tensor(name, (self.random.normal(size=shape) * scale + shift).astype(np.float32))

    def constant(self, value: Any, kind: type = np.float32) -> str:
        return self.node("Constant", value=numpy_helper.from_array(np.array(value, kind)))

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, name: str, x: str, inputs: int, outputs: int) -> str:
        weight = self.noise(f"onnx::MatMul_{len(self.tensors)}", inputs, outputs)
        return self.node("Add", self.noise(f"{name}.bias", outputs), self.node("MatMul", x, weight))

    def norm(self, name: str, x: str) -> str:
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.node("Pow", centred, self.constant(2.0))
        variance = self.node("Add", self.node("ReduceMean", square, axes=[-1], keepdims=1), self.constant(1e-12))
        plain = self.node("Div", centred, self.node("Sqrt", variance))
        gamma, beta = self.noise(f"{name}.weight", WIDTH, shift=1.0), self.noise(f"{name}.bias", WIDTH)
        return self.node("Add", self.node("Mul", plain, gamma), beta)

    def heads(self, x: str) -> str:
        split = self.node("Reshape", x, self.constant([0, -1, HEADS, WIDTH // HEADS], np.int64))
        return self.node("Transpose", split, perm=[0, 2, 1, 3])

    def attention(self, name: str, x: str, unseen: str) -> str:
        query, key, value = (
            self.heads(self.linear(f"{name}.{part}", x, WIDTH, WIDTH)) for part in ("query", "key", "value")
        )
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.node("Div", scores, self.constant(np.sqrt(WIDTH / HEADS)))
        weights = self.node("Softmax", self.node("Add", scores, unseen), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.node("Reshape", mixed, self.constant([0, -1, WIDTH], np.int64))

    def gelu(self, x: str) -> str:
        half = self.node("Add", self.node("Erf", self.node("Div", x, self.constant(np.sqrt(2)))), self.constant(1.0))
        return self.node("Mul", self.node("Mul", x, half), self.constant(0.5))

    def layer(self, name: str, x: str, unseen: str) -> str:
        mixed = self.attention(f"{name}.attention.self", x, unseen)
        out = self.linear(f"{name}.attention.output.dense", mixed, WIDTH, WIDTH)
        middle = self.norm(f"{name}.attention.output.LayerNorm", self.node("Add", out, x))
        wide = self.gelu(self.linear(f"{name}.intermediate.dense", middle, WIDTH, FEED))
        out = self.linear(f"{name}.output.dense", wide, FEED, WIDTH)
        return self.norm(f"{name}.output.LayerNorm", self.node("Add", out, middle))

    def embed(self, prefix: str) -> str:
        names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        sizes = (len(VOCABULARY), WINDOW, 2)
        words, places, types = (
            self.noise(f"{prefix}embeddings.{name}.weight", size, WIDTH, scale=1.0)
            for name, size in zip(names, sizes, strict=True)
        )
        summed = self.node("Add", self.node("Gather", words, "input_ids"), self.node("Gather", types, "token_type_ids"))
        count = self.node("Gather", self.node("Shape", "input_ids"), self.constant(1, np.int64))
        index = self.node("Range", self.constant(0, np.int64), count, self.constant(1, np.int64))
        return self.norm(f"{prefix}embeddings.LayerNorm", self.node("Add", summed, self.node("Gather", places, index)))


def write_export(folder: Path, *, seed: int = 0, prefix: str = "") -> Path:
    """The fp32 graph and its tokenizer, as they are published."""
    folder.mkdir()
    export = TinyExport(seed)
    mask = export.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    unseen = export.node("Mul", export.node("Sub", mask, export.constant(1.0)), export.constant(1e9))
    unseen = export.node("Unsqueeze", unseen, export.constant([1, 2], np.int64))
    hidden = export.embed(prefix)
    for number in range(LAYERS):
        hidden = export.layer(f"{prefix}encoder.layer.{number}", hidden, unseen)
    export.nodes[-1].output[0] = "last_hidden_state"
    save(model(export), folder / "tiny.onnx")
    (folder / "tiny-tokenizer.json").write_text(json.dumps(tokenizer()), "utf-8")
    return folder


def model(export: TinyExport) -> Any:
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", WIDTH])
    graph = helper.make_graph(export.nodes, "tiny", inputs, [output], export.tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def tokenizer() -> dict[str, Any]:
    """WordPiece over letters, with the padding and truncation that some publishers leave in."""
    piece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    ids = {name: {"id": name, "ids": [VOCABULARY.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    around = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    around.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 12, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 12},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": around, "pair": around, "special_tokens": ids},
        "decoder": None,
        "model": piece | {"max_input_chars_per_word": 100, "vocab": {t: i for i, t in enumerate(VOCABULARY)}},
    }
