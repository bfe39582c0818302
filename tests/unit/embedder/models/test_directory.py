import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memex.embedder.models import Card, open_model
from memex.embedder.models import card as cards
from memex.errors import ModelDamaged, ModelMissing

CONTENT = {"model.onnx": b"graph", "model.safetensors": b"weights", "tokenizer.json": b"{}"}


def make_card(**changes: Any) -> Card:
    files = changes.pop("files", {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()})
    fields: dict[str, Any] = {
        "name": "small",
        "revision": cards.revision(files),
        "dimensions": 8,
        "pooling": "mean",
        "window": 64,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "floor": 0.7,
        "ceiling": 0.95,
        "licence": "MIT",
        "provenance": {"source": "a test"},
    }
    return Card(files=files, **(fields | changes))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "small"
    path.mkdir()
    for name, data in CONTENT.items():
        (path / name).write_bytes(data)
    (path / "model.json").write_bytes(cards.encode(make_card()))
    return path


def test_a_whole_directory_opens(directory: Path) -> None:
    model = open_model(str(directory))
    assert model.card == make_card()
    assert (model.graph, model.weights, model.tokenizer) == tuple(directory / name for name in CONTENT)


def test_a_graph_with_its_own_weights_has_no_weights_file(directory: Path) -> None:
    files = {name: digest for name, digest in make_card().files.items() if name != "model.safetensors"}
    (directory / "model.json").write_bytes(cards.encode(make_card(files=files)))
    assert open_model(str(directory)).weights is None


@pytest.mark.parametrize("name", sorted(CONTENT))
def test_one_changed_byte_is_found(directory: Path, name: str) -> None:
    (directory / name).write_bytes(CONTENT[name][:-1] + b"?")
    with pytest.raises(ModelDamaged, match=f"^{name} of the model 'small' .*SHA-256.*memex model build") as caught:
        open_model(str(directory))
    assert str(directory.parent) not in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", [*sorted(CONTENT), "model.json"])
def test_an_absent_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(ModelMissing, match=f"^{name} of the model 'small' cannot be read.*memex model build") as caught:
        open_model(str(directory))
    assert str(directory.parent) not in caught.value.message


@pytest.mark.parametrize("name", ["no-such-model", "deep/no-such-model", "", "../e5-small-v2/model.json"])
def test_an_unknown_name_says_what_to_set(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelMissing, match=r"EMBEDDING_MODEL|model\.json"):
        open_model(name)


def test_a_packaged_model_opens_by_its_name_and_is_repaired_by_installing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memex.embedder.models.directory.PACKAGED", directory.parent)
    assert open_model("small").path == directory
    (directory / "model.onnx").write_bytes(b"torn")
    with pytest.raises(ModelDamaged, match=r"model\.onnx.*install memex again"):
        open_model("small")
    with pytest.raises(ModelMissing, match=r"packaged model \(small\)"):
        open_model("large")


def changed(**changes: Any) -> dict[str, Any]:
    card: dict[str, Any] = msgspec.to_builtins(make_card())
    return card | changes


@pytest.mark.parametrize(
    "card",
    [
        changed(dimensions=0),
        changed(pooling="last"),
        changed(floor="high"),
        changed(surprise=1),
        changed(revision="0" * 16),
        changed(files={}),
        changed(files={"../secret": "0" * 64}),
        changed(files={"model.onnx": "not a digest"}),
        [],
    ],
)
def test_a_card_that_is_wrong_is_refused(directory: Path, card: Any) -> None:
    (directory / "model.json").write_bytes(msgspec.json.encode(card))
    with pytest.raises(ModelDamaged, match=r"^model\.json of the model 'small'"):
        open_model(str(directory))


def test_a_card_that_is_not_json_is_refused(directory: Path) -> None:
    (directory / "model.json").write_bytes(b"\xff{")
    with pytest.raises(ModelDamaged, match="is not a model card"):
        open_model(str(directory))


def test_the_revision_follows_every_file() -> None:
    files = make_card().files
    revisions = {cards.revision(files | {name: "0" * 64}) for name in files}
    assert len(revisions | {cards.revision(files)}) == len(files) + 1
    assert cards.revision(dict(reversed(files.items()))) == cards.revision(files)


def test_a_card_survives_its_own_encoding() -> None:
    assert cards.decode(cards.encode(make_card())) == make_card()
