import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, save
from tokenizers import Tokenizer

from memex.embedder.models import open_model
from memex.embedder.models.build import Recipe, Report, build
from memex.embedder.models.build.bert import run_layer
from memex.embedder.models.build.reading import read_bert
from memex.errors import ModelDamaged, ModelMissing, SettingsInvalid
from tests.oracles.encoder import Encoder
from tests.unit.embedder.models.building import tiny

RECIPE = Recipe(
    name="tiny", query_prefix="q: ", passage_prefix="p: ", floor=0.1, licence="MIT", licence_text="Free.\n", source="us"
)
Vectors = NDArray[np.float32]


def silent(stage: str, done: int, total: int) -> None:
    """No progress is shown."""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_export(tmp_path_factory.mktemp("export") / "public")


@pytest.fixture(scope="module")
def built(export: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    target = tmp_path_factory.mktemp("models") / "tiny"
    return target, build(export, target, lambda _: RECIPE, silent)


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(path), options)


def inputs(ids: list[list[int]]) -> dict[str, Any]:
    tokens = np.array(ids, np.int64)
    return {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}


def texts() -> Iterator[list[int]]:
    random = np.random.default_rng(5)
    for length in (2, 3, 5, 8, 13, 17, 40):
        yield random.integers(4, len(tiny.VOCABULARY), length).tolist()


def hidden_states(export: Path, ids: list[int]) -> Vectors:
    feed = inputs([ids])
    types = {"token_type_ids": np.zeros_like(feed["input_ids"])}
    return np.asarray(session(export / "tiny.onnx").run(None, feed | types)[0][0])


def exact(export: Path, ids: list[int]) -> Vectors:
    mean = hidden_states(export, ids).mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_the_directory_opens_and_says_what_it_is(built: tuple[Path, Report]) -> None:
    path, report = built
    model = open_model(str(path))
    assert model.card == report.card
    assert set(model.card.files) == {"model.onnx", "model.safetensors", "tokenizer.json", "LICENSE"}
    assert (model.card.dimensions, model.card.window, model.card.floor) == (tiny.WIDTH, tiny.WINDOW, 0.1)
    assert report.sizes == {name: len(data) for name, data in files(path).items()}
    assert max(report.losses.values()) < 1e-3
    assert len(report.losses) == 4 * tiny.LAYERS


def test_equal_input_gives_equal_bytes(export: Path, built: tuple[Path, Report], tmp_path: Path) -> None:
    build(export, tmp_path / "again", lambda _: RECIPE, silent)
    assert files(tmp_path / "again") == files(built[0])


def test_a_jar_gives_the_same_as_its_folder(export: Path, built: tuple[Path, Report], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "public.jar", "w") as jar:
        for file in export.iterdir():
            jar.write(file, f"deep/inside/{file.name}")
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    build(tmp_path / "public.jar", tmp_path / "model", lambda _: RECIPE, silent)
    assert files(tmp_path / "model") == files(built[0])


def test_other_weights_are_another_revision(built: tuple[Path, Report], tmp_path: Path) -> None:
    other = tiny.write_export(tmp_path / "other", seed=1, prefix="bert.")
    assert build(other, tmp_path / "model", lambda _: RECIPE, silent).card.revision != built[1].card.revision


def test_both_engines_are_near_the_public_model(export: Path, built: tuple[Path, Report]) -> None:
    runtime, native = session(built[0] / "model.onnx"), Encoder(built[0] / "model.safetensors")
    for ids in texts():
        truth = exact(export, ids)
        assert runtime.run(None, inputs([ids]))[0][0] @ truth > 0.9995
        assert native(ids) @ truth > 0.9993


def test_a_vector_is_a_function_of_the_text_alone(built: tuple[Path, Report]) -> None:
    runtime = session(built[0] / "model.onnx")
    for ids in texts():
        alone = runtime.run(None, inputs([ids]))[0]
        batch = [ids[::-1]] * 3 + [ids] + [ids[::-1]] * 3
        np.testing.assert_array_equal(runtime.run(None, inputs(batch))[0][3:4], alone)


def test_padding_changes_no_more_than_rounding(built: tuple[Path, Report]) -> None:
    runtime = session(built[0] / "model.onnx")
    for ids in list(texts())[:-1]:
        feed = inputs([ids + [0] * 9])
        feed["attention_mask"][0, len(ids) :] = 0
        np.testing.assert_allclose(runtime.run(None, feed)[0], runtime.run(None, inputs([ids]))[0], atol=1e-5)


def test_the_first_token_can_stand_for_the_text(export: Path, tmp_path: Path) -> None:
    card = build(export, tmp_path / "model", lambda _: msgspec.structs.replace(RECIPE, pooling="cls"), silent).card
    assert card.pooling == "cls"
    runtime = session(tmp_path / "model" / "model.onnx")
    for ids in texts():
        truth = hidden_states(export, ids)[0]
        assert runtime.run(None, inputs([ids]))[0][0] @ truth / np.linalg.norm(truth) > 0.999


def test_the_tokenizer_neither_pads_nor_cuts(built: tuple[Path, Report]) -> None:
    tokenizer = Tokenizer.from_file(str(built[0] / "tokenizer.json"))
    assert [len(tokenizer.encode(text).ids) for text in ("a", "abcdefghijklmnopqrstuvwxyz")] == [3, 28]


def test_the_calibration_pass_is_the_public_arithmetic(export: Path) -> None:
    bert = read_bert(export / "tiny.onnx")
    batch = list(texts())
    hidden = bert.embed(batch)
    for layer in bert.layers:
        _, hidden = run_layer(layer, hidden, [len(ids) for ids in batch], bert.heads)
    ends = np.cumsum([len(ids) for ids in batch])
    for ids, end in zip(batch, ends, strict=True):
        mean = hidden[end - len(ids) : end].mean(0)
        np.testing.assert_allclose(mean / np.linalg.norm(mean), exact(export, ids), atol=2e-6)


def test_progress_runs_from_nothing_to_all(export: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    build(export, tmp_path / "model", lambda _: RECIPE, lambda *step: seen.append(step))
    assert seen == [("layers", done, tiny.LAYERS) for done in range(tiny.LAYERS + 1)]


def test_what_is_there_is_not_overwritten(export: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(SettingsInvalid, match="'precious' exists already"):
        build(export, tmp_path / "precious", lambda _: RECIPE, silent)
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", ["absent", "empty", "plain.txt"])
def test_a_source_without_a_model_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain.txt").write_text("not a jar")
    with pytest.raises(ModelMissing):
        build(tmp_path / name, tmp_path / "target", lambda _: RECIPE, silent)
    assert not (tmp_path / "target").exists()


def test_another_kind_of_graph_is_refused_and_nothing_stays(export: Path, tmp_path: Path) -> None:
    source, models = tmp_path / "public", tmp_path / "models"
    source.mkdir()
    (source / "tokenizer.json").write_bytes((export / "tiny-tokenizer.json").read_bytes())
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "other",
        [info],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    save(helper.make_model(graph), source / "model.onnx")
    with pytest.raises(ModelDamaged, match="not a BERT-like encoder"):
        build(source, models / "target", lambda _: RECIPE, silent)
    assert list(models.iterdir()) == []
