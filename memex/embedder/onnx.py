"""The engine for every processor and every model: onnxruntime. The only module that names it."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memex.embedder.encoder import Tokens
from memex.embedder.vectors import Vectors
from memex.errors import EncoderFailed, ModelDamaged

# It would report its use over the network, and keep files in the user's home, from the moment it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - of the library that this module alone names

import onnxruntime

log = logging.getLogger(__name__)

FATAL = 4
# Denormals are left alone: that option acts once per process and on the loading thread only, where it changes
# NumPy's arithmetic too, while the streams would run without it. Only padding makes them, and nothing is padded.
CONFIG = {
    "session.intra_op.allow_spinning": "0",
    "session.inter_op.allow_spinning": "0",
    # Otherwise int8 weights become MatMulNBits with quantised activations: another model.
    "session.disable_quant_qdq": "1",
}
# Texts and tokens of trial batches. Any token will do, and the first ones are in every vocabulary.
PROBES = ((2, 9), (5, 16))
PROBE_IDS = 31
KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxEncoder:
    """One session for all streams: `run` is thread-safe, and the weights are in memory once.

    Batches hold texts of equal length: padding costs time, and sums over masked columns may round otherwise. Graphs
    that mix the texts of a batch all the same (one scale for a whole tensor, a sum that takes another way for one
    text) are found out by trial when they are opened, and are then given one text at a time.
    """

    engine = "onnxruntime"
    ragged = False

    def __init__(self, graph: Path, pooling: str, streams: int) -> None:
        """`pooling` ("mean" or "cls") is for graphs that return a vector per token. Raises ModelDamaged."""
        self.streams = streams
        self._pooling = pooling
        self._session = open_session(graph)
        self._output = self._session.get_outputs()[0].name
        self._inputs = [given.name for given in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not KNOWN_INPUTS.issuperset(self._inputs):
            raise ModelDamaged(f"{graph.name} takes inputs that memex does not know: {', '.join(self._inputs)}.")
        try:
            self.exact_in_batches = all(self._probe(*shape) for shape in PROBES)
        except EncoderFailed as error:
            raise ModelDamaged(f"{graph.name} cannot be run by onnxruntime.") from error

    def encode(self, batch: Sequence[Tokens]) -> Vectors:
        """f32[len(batch), dimensions]. ValueError for mixed lengths, EncoderFailed where the runtime fails."""
        ids = np.array(batch, dtype=np.int64)
        return self._run(ids) if self.exact_in_batches else self._one_by_one(ids)

    def takes(self, tokens: int) -> bool:
        """Whether a text of so many tokens runs at all."""
        try:
            self._session.run([self._output], self._feed(np.ones((1, tokens), dtype=np.int64)))
        except Exception:  # noqa: BLE001 - its errors share no base class
            return False
        return True

    def _one_by_one(self, ids: npt.NDArray[np.int64]) -> Vectors:
        return np.concatenate([self._run(ids[row : row + 1]) for row in range(len(ids))])

    def _run(self, ids: npt.NDArray[np.int64]) -> Vectors:
        try:
            output = self._session.run([self._output], self._feed(ids))[0]
        except Exception as error:  # its errors share no base class
            log.error("onnxruntime failed on %d texts of %d tokens: %s", *ids.shape, error)  # noqa: TRY400
            raise EncoderFailed from error
        return np.asarray(output if output.ndim == 2 else pooled(output, self._pooling), dtype=np.float32)

    def _probe(self, texts: int, tokens: int) -> bool:
        """Whether texts get the same bits together as alone."""
        ids = np.arange(texts * tokens, dtype=np.int64).reshape(texts, tokens) % PROBE_IDS
        return np.array_equal(self._run(ids), self._one_by_one(ids))

    def _feed(self, ids: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
        """Equal lengths: every position is attended to, and all belong to one segment."""
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return {name: values[name] for name in self._inputs}


def open_session(graph: Path) -> Any:
    """Loads by path, because weights may lie in a file beside the graph. Raises ModelDamaged."""
    onnxruntime.set_default_logger_severity(FATAL)
    try:
        return onnxruntime.InferenceSession(str(graph), options(), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelDamaged(f"{graph.name} cannot be loaded by onnxruntime: {type(error).__name__}.") from error


def options() -> onnxruntime.SessionOptions:
    """One thread per run, no spinning, and memory that goes back after each run."""
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = 1
    chosen.inter_op_num_threads = 1
    chosen.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    # The arena grows to the largest shape ever seen and never shrinks; a pattern is kept for each shape.
    chosen.enable_cpu_mem_arena = False
    chosen.enable_mem_pattern = False
    chosen.log_severity_level = FATAL  # what goes wrong is raised
    for name, value in CONFIG.items():
        chosen.add_session_config_entry(name, value)
    return chosen


def pooled(hidden: npt.NDArray[np.float32], pooling: str) -> Vectors:
    """f32[texts, tokens, dimensions] → unit f32[texts, dimensions], each text on its own."""
    rows = [text[0] if pooling == "cls" else text.mean(axis=0, dtype=np.float32) for text in hidden]
    # A zero or non-finite row stays what it is: the check of every vector refuses it.
    with np.errstate(all="ignore"):
        return np.stack([row / np.sqrt(row @ row) for row in rows])
