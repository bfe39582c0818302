"""The engine on graphs of a few bytes, made here: what it feeds, pools, refuses and translates."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import TensorProto, helper, numpy_helper

from memex.embedder.onnx import OnnxEncoder, pooled
from memex.errors import EncoderFailed, ModelDamaged

TABLE = np.random.default_rng(7).standard_normal((50, 6)).astype(np.float32)
TABLE[49] = np.nan
ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@pytest.fixture
def graph(tmp_path):
    """Writes a graph that looks its vectors up in TABLE: one per token, or one per text."""

    def write(inputs=ALL_INPUTS, per_text=False):
        nodes = [helper.make_node("Gather", ["table", inputs[0]], ["tokens"], axis=0)]
        if per_text:
            nodes.append(helper.make_node("ReduceMean", ["tokens", "one"], ["mean"], keepdims=0))
            nodes.append(helper.make_node("LpNormalization", ["mean"], ["vectors"], axis=-1, p=2))
        shape: list[str | int | None] = ["b", 6] if per_text else ["b", "s", 6]
        made = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in inputs],
            [helper.make_tensor_value_info("vectors" if per_text else "tokens", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(TABLE, "table"), numpy_helper.from_array(np.array([1]), "one")],
        )
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, tmp_path / "model.onnx")
        return tmp_path / "model.onnx"

    return write


@pytest.fixture
def mixing(tmp_path, graph):
    """A graph that adds the largest number of the whole batch, as one scale for a whole tensor does."""
    model = onnx.load(graph())
    model.graph.node[0].output[0] = "looked_up"
    model.graph.node.append(helper.make_node("ReduceMax", ["looked_up"], ["largest"], keepdims=0))
    model.graph.node.append(helper.make_node("Add", ["looked_up", "largest"], ["tokens"]))
    onnx.save(model, tmp_path / "mixing.onnx")
    return tmp_path / "mixing.onnx"


def expected(batch: list[list[int]], pooling: str = "mean") -> Any:
    rows = [TABLE[ids[0]] if pooling == "cls" else TABLE[list(ids)].mean(axis=0, dtype=np.float64) for ids in batch]
    return np.stack([row / np.linalg.norm(row) for row in rows])


BATCH = [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_graph_with_a_vector_per_token_is_pooled_and_normalised(graph, pooling):
    encoder = OnnxEncoder(graph(), pooling, streams=1)
    np.testing.assert_allclose(encoder.encode(BATCH), expected(BATCH, pooling), atol=1e-6)


def test_a_graph_with_a_vector_per_text_is_taken_as_it_is(graph):
    encoder = OnnxEncoder(graph(per_text=True), "mean", streams=1)
    found = encoder.encode(BATCH)
    np.testing.assert_allclose(found, expected(BATCH), atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask"), ALL_INPUTS])
def test_it_feeds_the_inputs_that_the_graph_has(graph, inputs):
    assert OnnxEncoder(graph(inputs), "mean", streams=1).encode(BATCH).shape == (2, 6)


def test_a_graph_with_other_inputs_is_refused_by_their_name(graph):
    with pytest.raises(ModelDamaged, match="pixels"):
        OnnxEncoder(graph(("pixels",)), "mean", streams=1)
    with pytest.raises(ModelDamaged, match="position_ids"):
        OnnxEncoder(graph(("input_ids", "position_ids")), "mean", streams=1)


def test_mixed_lengths_are_a_fault_of_the_caller(graph):
    with pytest.raises(ValueError, match="inhomogeneous"):
        OnnxEncoder(graph(), "mean", streams=1).encode([[1, 2], [3]])


def test_an_error_of_the_runtime_is_ours_outside_and_on_the_log_inside(graph, caplog, capfd):
    encoder = OnnxEncoder(graph(), "mean", streams=1)
    with pytest.raises(EncoderFailed) as failed:
        encoder.encode([[1, 99_999, 3]])
    assert "onnxruntime failed on 1 texts of 3 tokens" in caplog.text
    assert failed.value.message == "The text could not be embedded. Nothing was stored; try again."
    assert capfd.readouterr().err == ""
    assert encoder.encode(BATCH).shape == (2, 6)


def test_what_is_not_finite_stays_so_for_the_check_of_every_vector(graph):
    found = OnnxEncoder(graph(), "mean", streams=1).encode([[1, 49], [1, 2]])
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_a_file_that_is_no_graph_is_a_damaged_model(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelDamaged, match=r"model\.onnx cannot be loaded") as refused:
        OnnxEncoder(tmp_path / "model.onnx", "mean", streams=1)
    assert str(tmp_path) not in refused.value.message


@given(arrays(np.float32, (3, 5, 8), elements=st.floats(0.0, 1.0, width=32)).filter(lambda a: a.sum((1, 2)).min() > 1))
def test_pooling_is_the_mean_direction_and_each_text_is_pooled_alone(hidden):
    together = pooled(hidden, "mean")
    alone = np.concatenate([pooled(text[None], "mean") for text in hidden])
    exact = hidden.astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(together, exact / np.linalg.norm(exact, axis=1, keepdims=True), atol=1e-6)
    assert np.array_equal(together, alone)


def test_a_graph_that_mixes_the_texts_of_a_batch_is_given_one_at_a_time(graph, mixing):
    assert OnnxEncoder(graph(), "mean", streams=1).exact_in_batches
    encoder = OnnxEncoder(mixing, "mean", streams=1)
    assert not encoder.exact_in_batches
    together = encoder.encode(BATCH)
    alone = np.concatenate([encoder.encode([text]) for text in BATCH])
    assert np.array_equal(together, alone)


def test_a_graph_that_cannot_run_is_a_damaged_model(tmp_path, graph):
    model = onnx.load(graph())
    del model.graph.initializer[:]
    model.graph.initializer.append(numpy_helper.from_array(TABLE[:3], "table"))
    onnx.save(model, tmp_path / "small.onnx")
    with pytest.raises(ModelDamaged, match=r"small\.onnx cannot be run"):
        OnnxEncoder(tmp_path / "small.onnx", "mean", streams=1)
