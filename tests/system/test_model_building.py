"""`memex model build` as people call it: what it makes serves, and the figures that it prints are true of it."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memex.embedder.models import open_model, probes
from tests.fixtures.process import Process
from tests.fixtures.process import run as start
from tests.system.test_model_commands import AGENT, called
from tests.unit.embedder.models import published

pytestmark = pytest.mark.xdist_group("system")
Vectors = NDArray[np.float64]
SOURCE, BUILT = "tiny-encoder", "built"


def build(*arguments: str | Path) -> tuple[int, str]:
    return called(start("model", "build", *map(str, arguments)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the source, which memex builds once."""
    folder = tmp_path_factory.mktemp("building")
    published.write_repository(folder / SOURCE)
    return folder


@pytest.fixture(scope="module")
def said(place: Path) -> str:
    """What the command prints."""
    code, output = build(place / SOURCE, place / "models" / BUILT)
    assert code == 0, output
    return output


class Measured:
    """The figures of a graph that gives a vector per text, or one per token of which the first is taken."""

    def __init__(self, graph: Path, tokenizer: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.disable_quant_qdq", "1")  # activations stay as they are
        self.session = onnxruntime.InferenceSession(str(graph), options)
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        pairs = [line.split("\t") for line in lines("pairs.tsv")]
        answers = [answer for _, answer in pairs]
        self.questions = self.vectors([f"ask: {question}" for question, _ in pairs])
        self.memories = self.vectors([f"doc: {text}" for text in answers])
        self.strangers = self.vectors([f"doc: {line.split(chr(9))[1]}" for line in lines("scripts.tsv")])
        self.echoes = self.vectors([f"ask: {text}" for text in answers])

    def vectors(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> Vectors:
        ids = self.tokenizer.encode(text).ids
        tokens = np.array([ids if len(ids) <= published.WINDOW else [*ids[: published.WINDOW - 1], ids[-1]]])
        feed: dict[str, Any] = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        taken = {given.name for given in self.session.get_inputs()}
        feed |= {"token_type_ids": np.zeros_like(tokens)} if "token_type_ids" in taken else {}
        found = np.asarray(self.session.run(None, feed)[0][0], np.float64)
        first = found[0] if found.ndim == 2 else found
        return np.asarray(first / np.linalg.norm(first))

    @property
    def band(self) -> tuple[float, float]:
        """The quarter of the cosines of strangers, and the best of a text and itself."""
        cosines = self.questions @ self.memories.T
        apart = [cosines[a, b] for a in range(len(cosines)) for b in range(len(cosines)) if a != b]
        return float(np.quantile(apart, 0.25)), float((self.echoes * self.memories).sum(1).max())

    @property
    def all(self) -> Vectors:
        return np.concatenate([self.memories, self.strangers])


def lines(file: str) -> list[str]:
    return (probes.FOLDER / file).read_text("utf-8").splitlines()


def test_its_figures_are_those_of_what_it_made(place: Path, said: str) -> None:
    model = open_model(str(place / "models" / BUILT))
    source = place / SOURCE
    made, truth = (
        Measured(model.graph, model.tokenizer),
        Measured(source / "onnx/model.onnx", source / "tokenizer.json"),
    )
    figures = re.search(
        r"cosine mean (.+), least (.+); best ten in common (.+)%\nfloor (.+), ceiling (.+) \(measured (.+), (.+)\)",
        said,
    )
    assert figures is not None
    mean, least, common, *band = map(float, figures.groups())
    cosines = np.concatenate([(made.questions * truth.questions).sum(1), (made.all * truth.all).sum(1)])
    assert (mean, least) == pytest.approx((cosines.mean(), cosines.min()), abs=2e-5)
    best = [(-(one.questions @ one.all.T)).argsort(1)[:, :10] for one in (made, truth)]
    shared = np.mean([len({*a} & {*b}) / 10 for a, b in zip(*best, strict=True)])
    assert common == pytest.approx(100 * shared, abs=1)
    assert band[:2] == band[2:] == [model.card.floor, model.card.ceiling]
    assert band[:2] == pytest.approx(made.band, abs=0.006)
    assert least > 0.99


def test_the_card_is_as_the_source_says(place: Path, said: str) -> None:
    card = open_model(str(place / "models" / BUILT)).card
    assert said.splitlines()[1] == f"{card.id} in {place / 'models' / BUILT}"
    assert (card.name, card.pooling, card.window) == (SOURCE, "cls", published.WINDOW)
    assert (card.query_prefix, card.passage_prefix, card.licence) == ("ask: ", "doc: ", "MIT")
    for name in card.files:
        assert f"  {name}  {(place / 'models' / BUILT / name).stat().st_size:,} bytes\n" in said


@pytest.mark.usefixtures("said")
def test_what_it_made_serves(place: Path, serve: Callable[..., Process]) -> None:
    process = serve(EMBEDDING_MODEL=str(place / "models" / BUILT)).ready()
    with process.client() as client:
        for content in ("abc", "xyz 0123456789 " * 30):
            assert client.post("/v1/memories", json=AGENT | {"content": content}).status_code == 201
        asked = AGENT | {"query": "abc", "mode": "semantic", "alpha": 1}
        found = client.post("/v1/memories/search", json=asked).json()["results"]
        assert [hit["content"][:3] for hit in found] == ["abc", "xyz"]
        assert client.get("/v1/stats", params=AGENT).json()["model"]["id"].startswith(f"{SOURCE}@")


@pytest.mark.usefixtures("said")
def test_options_and_a_recipe_are_what_the_card_says(place: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text('{"name": "mine", "query_prefix": "q: ", "licence": "MIT", "licence_text": "", "source": "us"}')
    given = ("--recipe", recipe, "--pooling", "mean", "--passage-prefix", "p: ", "--floor", "0.5", "--ceiling", "0.9")
    code, output = build(place / SOURCE, tmp_path / "made", *given)
    assert code == 0, output
    card = open_model(str(tmp_path / "made")).card
    assert (card.name, card.query_prefix, card.passage_prefix, card.pooling) == ("mine", "q: ", "p: ", "mean")
    assert (card.floor, card.ceiling) == (0.5, 0.9)
    assert re.search(r"\nfloor 0\.5, ceiling 0\.9 \(measured ", output)


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none", "made"], 2, "does not exist"),
        ([SOURCE, f"models/{BUILT}"], 1, "memex: 'built' exists already: name a directory that does not."),
        ([SOURCE, "made", "--recipe", "nope"], 1, "memex: 'nope' is neither a recipe that memex knows nor a file"),
        ([SOURCE, "made", "--recipe", __file__], 1, "memex: 'test_model_building.py' is not a recipe: "),
        ([SOURCE, "made", "--graph", "other.onnx"], 1, "memex: The source has no other.onnx; it has "),
        ([f"{SOURCE}/onnx", "made"], 1, "memex: The source must hold one tokenizer.json; it holds none."),
        ([f"{SOURCE}/config.json", "made"], 1, "memex: 'config.json' is neither a folder nor a jar with an .onnx file"),
    ],
)
def test_wrong_input_is_told_and_makes_nothing(place: Path, arguments: list[str], code: int, words: str) -> None:
    before = contents(place)
    source, target, *options = arguments
    found, output = build(place / source, place / target, *options)
    assert (found, words in output) == (code, True), output
    assert contents(place) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
