"""One text, one run of the model: onnxruntime as it comes, no batching, no cache, no limit on threads."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

Vector = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

MODEL = Path(__file__).parents[2] / "memex/embedder/models/e5-small-v2/model.onnx"
WINDOW = 512
QUERY = "query: "
PASSAGE = "passage: "


class Encoder:
    """A session and a tokenizer, both with their libraries' defaults; safe to call from many threads."""

    def __init__(self, model: Path = MODEL) -> None:
        """`model` is an ONNX graph whose tokenizer lies beside it."""
        self._tokenizer = Tokenizer.from_file(str(tokenizer_of(model)))
        self._tokenizer.enable_truncation(WINDOW)
        self._tokenizer.enable_padding()
        self._session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._inputs = [given.name for given in self._session.get_inputs()]

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Unit vectors f32[384]. Texts carry their prefix already."""
        encoded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([text.ids for text in encoded], np.int64)
        mask = np.array([text.attention_mask for text in encoded], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return list(unit(output if output.ndim == 2 else mean(output, mask)))


def tokenizer_of(model: Path) -> Path:
    """`tokenizer.json` beside the model, or where several models lie together `<its name>-tokenizer.json`."""
    own = model.with_name(f"{model.stem}-tokenizer.json")
    return own if own.exists() else model.with_name("tokenizer.json")


def mean(hidden: npt.NDArray[np.float32], mask: Ids) -> npt.NDArray[np.float32]:
    """f32[texts, tokens, 384] → f32[texts, 384]: the mean over the real tokens."""
    weights = mask[:, :, np.newaxis].astype(np.float32)
    total: npt.NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return total


def unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each row divided by its length."""
    scaled: npt.NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled
