"""The whole way from a public fp32 file to a model directory."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from memex.embedder.models import card as cards
from memex.embedder.models import directory, probes
from memex.embedder.models.build.bert import Bert
from memex.embedder.models.build.calibration import TEXTS, calibration_ids, load_tokenizer
from memex.embedder.models.build.graph import Shape, build_graph
from memex.embedder.models.build.quantising import QuantLayer, quantise
from memex.embedder.models.build.reading import read_bert
from memex.embedder.models.build.recipe import Recipe, derived
from memex.embedder.models.build.weights import lay_out, write
from memex.embedder.models.probes import Fidelity, Prefixes, Probe
from memex.embedder.models.sources import Source, open_source
from memex.embedder.models.tokenizing import strip
from memex.embedder.onnx import OnnxEncoder
from memex.errors import SettingsInvalid

LICENCE = "LICENSE"
# A stage, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
Amend = Callable[[Recipe], Recipe]


class Report(msgspec.Struct, frozen=True):
    """What was made."""

    card: cards.Card
    sizes: dict[str, int]
    """Bytes of each file."""
    losses: dict[str, float]
    """Relative squared output error of each rounded weight over the calibration texts."""
    fidelity: Fidelity
    """To the public fp32 graph, on sentences that nothing was fitted to."""
    floor: float
    """As measured; the card has the recipe's if that says one."""
    ceiling: float


def build(source: Path, target: Path, amend: Amend, progress: Progress, graph: str | None = None) -> Report:
    """Makes the directory `target`, which must not exist, from the folder or jar `source`; whole or not at all.

    `amend` is given the recipe that follows from the source, and gives the one to use. Equal input gives equal bytes
    on one machine with the same numpy, onnx and tokenizers and a single-threaded BLAS (OMP_NUM_THREADS=1). Raises
    ModelMissing and ModelDamaged for a source that is not one, SettingsInvalid where the target is there already.
    """
    if target.exists():
        raise SettingsInvalid(f"'{target.name}' exists already: name a directory that does not.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_source(source, graph) as public, TemporaryDirectory(dir=target.parent) as folder:
        work = Path(folder) / "model"
        work.mkdir()
        report = fill(work, public, amend(derived(public, source.name)), progress)
        work.rename(target)
    return report


def fill(work: Path, public: Source, recipe: Recipe, progress: Progress) -> Report:
    """All files of the directory."""
    bert = read_bert(public.graph, recipe.window)
    prefixes = (recipe.query_prefix, recipe.passage_prefix)
    texts = calibration_ids(load_tokenizer(public.tokenizer), prefixes, len(bert.positions))
    layers = quantise(bert, texts, progress)
    write_encoder(work, bert, layers, recipe)
    tokenizer = strip(public.tokenizer.read_text("utf-8"))
    (work / directory.TOKENIZER).write_text(tokenizer, "utf-8", newline="\n")
    (work / LICENCE).write_text(recipe.licence_text, "utf-8", newline="\n")
    made, truth = (
        probe(graph, public, recipe, len(bert.positions)) for graph in (work / directory.GRAPH, public.graph)
    )
    floor = made.floor if recipe.floor is None else recipe.floor
    ceiling = made.ceiling if recipe.ceiling is None else recipe.ceiling
    card = make_card(work, public, bert, recipe, (floor, ceiling))
    (work / directory.CARD).write_bytes(cards.encode(card))
    sizes = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
    return Report(card, sizes, losses(layers), probes.compare(made, truth), made.floor, made.ceiling)


def probe(graph: Path, public: Source, recipe: Recipe, window: int) -> Probe:
    """The shipped sentences through a graph."""
    encoder = OnnxEncoder(graph, recipe.pooling, 1)
    prefixes = Prefixes(recipe.query_prefix, recipe.passage_prefix)
    return probes.run(encoder, load_tokenizer(public.tokenizer), prefixes, window)


def write_encoder(work: Path, bert: Bert, layers: list[QuantLayer], recipe: Recipe) -> None:
    """The weights and the graph that points into them."""
    shape = Shape(len(layers), bert.heads, bert.words.shape[1], bert.norm.epsilon, recipe.pooling)
    facts = {"heads": str(shape.heads), "layers": str(shape.layers), "epsilon": repr(shape.epsilon)}
    tensors = lay_out(bert, layers)
    places = write(work / directory.WEIGHTS, tensors, facts)
    (work / directory.GRAPH).write_bytes(build_graph(tensors, places, directory.WEIGHTS, shape))


def make_card(work: Path, public: Source, bert: Bert, recipe: Recipe, band: tuple[float, float]) -> cards.Card:
    """The card of the files in `work`."""
    files = {path.name: directory.digest(path) for path in sorted(work.iterdir())}
    provenance = {
        "source": recipe.source,
        "source_sha256": public.digest,
        "calibration_sha256": directory.digest(TEXTS),
    }
    made_with = {name: version(name) for name in ("numpy", "onnx", "tokenizers")}
    return cards.Card(
        name=recipe.name,
        revision=cards.revision(files),
        dimensions=bert.words.shape[1],
        pooling=recipe.pooling,
        window=len(bert.positions),
        query_prefix=recipe.query_prefix,
        passage_prefix=recipe.passage_prefix,
        floor=band[0],
        ceiling=band[1],
        licence=recipe.licence,
        files=files,
        provenance=provenance | made_with,
    )


def losses(layers: list[QuantLayer]) -> dict[str, float]:
    """The rounding loss of every weight by its name."""
    return {
        f"layers.{number}.{name}": getattr(layer, name).weight.loss
        for number, layer in enumerate(layers)
        for name in layer.__struct_fields__
    }
