"""The encoders that are compared, each as a call from token sequences to vectors, on the calling thread alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from memex.embedder.encoder import Encoder, Tokens
from memex.embedder.engines import open_encoder
from memex.embedder.models import open_model
from memex.embedder.onnx import pooled
from memex.settings import Engine

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[Tokens]], Vectors]


def native(streams: int = 1) -> Encoder:
    """The packaged model on the engine of our own."""
    return open_encoder(open_model("e5-small-v2"), Engine.NATIVE, streams)


def runtime(graph: Path) -> Encode:
    """A graph for onnxruntime that returns a vector per token, mean-pooled: one thread.

    A batch of mixed lengths is padded; `alone` runs it one by one.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    return lambda batch: masked_means(session.run(None, feed(names, batch))[0], batch)


def feed(names: list[str], batch: Sequence[Tokens]) -> dict[str, Any]:
    """Padded to the longest."""
    ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
    values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return {name: values[name] for name in names}


def masked_means(hidden: Vectors, batch: Sequence[Tokens]) -> Vectors:
    """Unit means over the real tokens of each text."""
    return np.concatenate([pooled(hidden[row : row + 1, : len(tokens)], "mean") for row, tokens in enumerate(batch)])


def alone(encode: Encode) -> Encode:
    """One text at a time, as a service without batches has it."""
    return lambda batch: np.concatenate([encode([tokens]) for tokens in batch])
