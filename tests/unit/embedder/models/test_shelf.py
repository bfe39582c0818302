import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tokenizers import Tokenizer

from memex.embedder.models import open_model
from memex.embedder.models.examination import examine
from memex.embedder.models.shelf import AS_IT_COMES, Choice, Shelf, fill
from memex.embedder.onnx import OnnxEncoder
from memex.errors import HomeUnusable, ModelDamaged, ModelMissing, SettingsInvalid
from tests.unit.embedder.models import published
from tests.unit.embedder.models.building import tiny


def silent(name: str, done: int, whole: int) -> None:
    """No progress is shown."""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "home", silent)


def test_a_folder_as_it_comes_from_a_hub_is_added_once(shelf: Shelf, tmp_path: Path) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    path = Path(shelf.locate(str(source)))
    card = open_model(str(path)).card
    assert path == tmp_path / "home" / "models" / "tiny-encoder"
    assert (card.pooling, card.window, card.dimensions) == ("cls", published.WINDOW, tiny.WIDTH)
    assert (card.query_prefix, card.passage_prefix, card.licence) == ("ask: ", "doc: ", "MIT")
    assert -1 <= card.floor < card.ceiling <= 1
    assert card.provenance["graph"] == "onnx/model.onnx"
    made = path.stat().st_ino
    assert shelf.locate(str(source)) == str(path)
    assert shelf.locate("tiny-encoder") == str(path)
    assert path.stat().st_ino == made


@pytest.mark.parametrize("said", [-1, 0, 10**30, None, "512"])
def test_a_window_that_is_none_is_no_limit(shelf: Shelf, tmp_path: Path, said: object) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    (source / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": said}))
    assert open_model(shelf.locate(str(source))).card.window == tiny.WINDOW


def test_a_jar_is_used_as_its_family_is(shelf: Shelf, tmp_path: Path) -> None:
    path = shelf.add(str(published.write_jar(tmp_path / "any.jar")), AS_IT_COMES, None)
    card = open_model(str(path)).card
    assert (card.name, card.pooling) == ("bge-small-en-tiny", "cls")
    assert card.query_prefix.startswith("Represent this sentence")
    assert card.passage_prefix == ""
    assert card.window == 32  # the longest power of two that its 40 positions let through
    assert not (tmp_path / "escape-tokenizer.json").exists()


def test_the_first_token_is_the_vector(shelf: Shelf, tmp_path: Path) -> None:
    model = open_model(shelf.locate(str(published.write_repository(tmp_path / "tiny-encoder"))))
    ids = Tokenizer.from_file(str(model.tokenizer)).encode("a b c").ids
    cls = OnnxEncoder(model.graph, "cls", 1).encode([ids])[0]
    mean = OnnxEncoder(model.graph, "mean", 1).encode([ids])[0]
    assert abs(np.linalg.norm(cls) - 1) < 1e-5
    assert cls @ mean < 0.999


def test_what_the_operator_says_counts(shelf: Shelf, tmp_path: Path) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    choice = Choice(name="mine", pooling="mean", query_prefix="", floor=0.25, ceiling=0.75)
    card = open_model(str(shelf.add(str(source), choice, tmp_path / "elsewhere"))).card
    assert (card.name, card.pooling, card.query_prefix, card.passage_prefix) == ("mine", "mean", "", "doc: ")
    assert (card.floor, card.ceiling) == (0.25, 0.75)
    assert shelf.models() == []


def test_another_model_under_a_name_is_not_taken_for_it(shelf: Shelf, tmp_path: Path) -> None:
    shelf.add(str(published.write_repository(tmp_path / "tiny-encoder")), AS_IT_COMES, None)
    other = tiny.write_export(tmp_path / "other", seed=3)
    with pytest.raises(SettingsInvalid, match=r"'tiny-encoder' exists already.*--name"):
        shelf.add(str(other), Choice(name="tiny-encoder"), None)


@pytest.mark.parametrize("name", ["../out", ".hidden", "e5-small-v2", "a/b"])
def test_a_name_stays_in_its_folder(shelf: Shelf, tmp_path: Path, name: str) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    with pytest.raises(SettingsInvalid, match="--name"):
        shelf.add(str(source), Choice(name=name), None)


def test_several_graphs_are_named(shelf: Shelf, tmp_path: Path) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    graph = source / "onnx" / "model.onnx"
    for name in ("model_a.onnx", "model_b.onnx"):
        (source / name).write_bytes(graph.read_bytes())
    graph.unlink()
    with pytest.raises(SettingsInvalid, match=r"--graph: model_a\.onnx, model_b\.onnx"):
        shelf.add(str(source), AS_IT_COMES, None)
    assert shelf.add(str(source), Choice(graph="model_b.onnx"), None).name == "tiny-encoder"


@pytest.mark.parametrize("name", ["nothing", "deep/down/nothing", "", "./nothing"])
def test_what_is_nowhere_is_missing(shelf: Shelf, name: str) -> None:
    with pytest.raises(ModelMissing, match="name one of e5-small-v2") as caught:
        shelf.locate(name)
    assert "e5-small-v2" in caught.value.message


def test_a_pooling_that_memex_lacks_is_refused_and_nothing_stays(shelf: Shelf, tmp_path: Path) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    (source / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ModelDamaged, match="max_tokens"):
        shelf.locate(str(source))
    assert list((tmp_path / "home" / "models").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    source = published.write_repository(tmp_path / "tiny-encoder")
    with pytest.raises(HomeUnusable, match="'tiny-encoder'") as caught:
        Shelf(tmp_path / "home", silent).locate(str(source))
    assert str(tmp_path) not in caught.value.message


def test_an_examination_finds_a_wrong_band_and_a_model_that_finds_nothing(shelf: Shelf, tmp_path: Path) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    path = shelf.add(str(source), Choice(floor=-0.9, ceiling=-0.8), None)
    found = {finding.about: finding for finding in examine(open_model(str(path)), source)}
    assert found["vectors"].good
    assert found["engine"].good
    assert not found["band"].good
    assert not found["search"].good
    assert found["fidelity"].good
    assert "1.00000" in found["fidelity"].text


def test_the_packaged_model_is_what_its_card_says() -> None:
    found = {finding.about: finding for finding in examine(open_model("e5-small-v2"), None)}
    assert [about for about, finding in found.items() if not finding.good] == []
    assert found["band"].text == "floor 0.7, ceiling 0.95; measured 0.7, 0.95"
    assert found["scripts"].text == "reads latin"
    assert msgspec.structs.asdict(found["engine"])["text"].endswith("in batches")


@pytest.mark.parametrize("name", ["x" * 300, "/" + "x" * 300, "~no-such-user/model", "~no-such-user", ""])
def test_what_cannot_be_a_path_is_no_model(shelf: Shelf, name: str) -> None:
    with pytest.raises(ModelMissing, match="There is no model"):
        shelf.locate(name)
    with pytest.raises(ModelMissing, match="There is no model"):
        shelf.add(name, AS_IT_COMES, None)


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        (Choice(floor=float("nan")), "floor"),
        (Choice(floor=7.0), "floor"),
        (Choice(floor=0.9, ceiling=0.1), "below the ceiling"),
        (Choice(name="x" * 129), "--name"),
    ],
)
def test_what_the_service_would_refuse_is_not_added(shelf: Shelf, tmp_path: Path, choice: Choice, fault: str) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    with pytest.raises(SettingsInvalid, match=fault):
        shelf.add(str(source), choice, None)
    assert list((tmp_path / "home").glob("models/*")) == []


def test_one_damaged_card_does_not_hide_the_other_models(shelf: Shelf, tmp_path: Path) -> None:
    good = shelf.add(str(published.write_repository(tmp_path / "tiny-encoder")), AS_IT_COMES, None)
    bad = tmp_path / "home" / "models" / "bad"
    bad.mkdir()
    (bad / "model.json").write_text("{}")
    assert [model.path for model in shelf.models()] == [good]


@pytest.mark.parametrize("content", [b"\xff\xfe", b'{"a"', b"[]", b"[" * 100_000, b"{}"])
def test_a_file_that_is_no_tokenizer_is_named(shelf: Shelf, tmp_path: Path, content: bytes) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    (source / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelDamaged, match="tokenizer"):
        shelf.add(str(source), AS_IT_COMES, None)


@pytest.mark.parametrize("prompts", [["a"], {"query": 5, "passage": None}, "a", None])
def test_prompts_that_are_no_texts_are_none(shelf: Shelf, tmp_path: Path, prompts: object) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    (source / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    card = open_model(str(shelf.add(str(source), AS_IT_COMES, None))).card
    assert (card.query_prefix, card.passage_prefix) == ("", "")


def flipped(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    start = content.find(b"bge-small-en-tiny.onnx") + 40
    content[start : start + 8] = bytes(byte ^ 0xFF for byte in content[start : start + 8])
    archive.write_bytes(content)


def encrypted(archive: Path) -> None:
    content = archive.read_bytes().replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01")
    archive.write_bytes(content.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"))


def crowded(archive: Path) -> None:
    with zipfile.ZipFile(archive, "a") as jar:
        jar.writestr("bge-small-en-tiny-tokenizer.json/model.onnx", "x")


@pytest.mark.parametrize("harm", [flipped, encrypted, crowded])
def test_an_archive_that_cannot_be_unpacked_is_named(
    shelf: Shelf, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    archive = published.write_jar(tmp_path / "any.jar")
    harm(archive)
    with pytest.raises(ModelDamaged, match=r"'any\.jar' cannot be unpacked"):
        shelf.add(str(archive), AS_IT_COMES, None)


@pytest.mark.parametrize("made_of", ["the same", "another"])
def test_who_was_quicker_is_right_if_the_model_is_the_same(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_of: str
) -> None:
    source = published.write_repository(tmp_path / "tiny-encoder")
    other = tiny.write_export(tmp_path / "other", seed=3)
    quicker = Shelf(tmp_path / "home", silent)

    def overtaken(*given: object) -> None:
        monkeypatch.undo()
        quicker.add(str(source if made_of == "the same" else other), Choice(name="tiny-encoder"), None)
        fill(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("memex.embedder.models.shelf.fill", overtaken)
    if made_of == "the same":
        assert shelf.add(str(source), AS_IT_COMES, None) == tmp_path / "home" / "models" / "tiny-encoder"
    else:
        with pytest.raises(SettingsInvalid, match="another model"):
            shelf.add(str(source), AS_IT_COMES, None)
    assert [path.name for path in (tmp_path / "home" / "models").iterdir()] == ["tiny-encoder"]
