"""What `memex model` does, and which model directory the service takes."""

import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from memex.app.tenths import tenths
from memex.embedder.models import ModelDirectory, open_model
from memex.embedder.models.directory import packaged_models
from memex.embedder.models.shelf import Choice, Shelf
from memex.errors import MemexError, SettingsInvalid
from memex.settings import Settings

T = TypeVar("T")


def located(settings: Settings) -> str:
    """What `open_model` takes for EMBEDDING_MODEL. A hub id is fetched, and added files are made ready, once."""
    return Shelf(settings.home, tenths("fetching ")).locate(settings.embedding.model)


def listed(settings: Settings) -> str:
    """One line per model that can be named; a star at the one that EMBEDDING_MODEL names."""
    shelf = Shelf(settings.home, tenths("fetching "))
    models = [("packaged", open_model(name)) for name in packaged_models()]
    models += [("added", model) for model in shelf.models()]
    current = settings.embedding.model
    lines = [line(origin, model, current) for origin, model in models]
    if not any(text.startswith("*") for text in lines):
        lines.append(f"* {current}  (EMBEDDING_MODEL)")
    return "\n".join(lines)


def line(origin: str, model: ModelDirectory, current: str) -> str:
    """One model for people."""
    card, name = model.card, model.path.name
    mark = "*" if current in (name, card.provenance.get("source"), str(model.path)) else " "
    facts = f"{card.dimensions} dimensions, window {card.window}, {card.licence}, revision {card.revision}"
    return f"{mark} {name}  {origin}, {facts}"


def add(settings: Settings, source: str, choice: Choice, into: Path | None) -> str:
    """Makes a model directory of a hub id, a folder or a jar; what it is, in lines to print."""
    from memex.app.bars import downloads  # noqa: PLC0415 (rich, which no start of a service needs)

    with downloads() as tell:
        path = Shelf(settings.home, tell).add(source, choice, into)
    card = open_model(str(path)).card
    value = path.name if into is None else str(into)
    told = f"{card.pooling} pooling, query prefix '{card.query_prefix}', passage prefix '{card.passage_prefix}'"
    return (
        f"{card.id}: {card.dimensions} dimensions, window {card.window}, floor {card.floor}, ceiling {card.ceiling}\n"
        f"{told} ({card.provenance.get('basis', 'as its card says')})\n"
        f"Use it with EMBEDDING_MODEL={value}"
    )


def check(settings: Settings, name: str | None, against: Path | None) -> int:
    """Prints what an examination of a model found, a line each; 0 where the model is fit for use."""
    from memex.embedder.models.examination import examine  # noqa: PLC0415 (loads onnxruntime)

    try:
        chosen = Shelf(settings.home, tenths("fetching ")).locate(name or settings.embedding.model)
        findings = examine(open_model(chosen), against)
    except MemexError as error:
        sys.stdout.write(f"FAULT  {error.message}\n")
        return 1
    for finding in findings:
        sys.stdout.write(f"{'ok   ' if finding.good else 'FAULT'}  {finding.about:<12}  {finding.text}\n")
    return int(not all(finding.good for finding in findings))


def build(source: Path, target: Path, recipe: str | None, choice: Choice) -> str:
    """Makes the model directory `target` from the public fp32 files in `source`; what it is, in lines to print.

    `recipe` is a name that memex knows, or a JSON file with the fields of a Recipe; None derives it from the source.
    Call `environment.single_threaded` before this module is imported.
    """
    from memex.app.bars import layers  # noqa: PLC0415

    try:
        from memex.embedder.models import build as building  # noqa: PLC0415 (a development tool)
    except ModuleNotFoundError as error:
        raise SettingsInvalid(
            f"Building a model needs {error.name}: `pip install onnx safetensors`, or `make check` in a checkout."
        ) from error
    told = {name: value for name, value in msgspec.structs.asdict(choice).items() if value is not None}
    graph = told.pop("graph", None)
    named = (building.RECIPES.get(recipe) or read_recipe(Path(recipe), building.Recipe)) if recipe else None
    with layers() as tell:
        report = building.build(
            source,
            target,
            lambda derived: msgspec.structs.replace(named or derived, **told),
            tell,
            graph,
        )
    return summary(report, target)


def summary(report: Any, target: Path) -> str:
    """What was built, in lines to print."""
    sizes = "\n".join(f"  {name}  {size:,} bytes" for name, size in report.sizes.items())
    card, worst = report.card, max(report.losses.values())
    return (
        f"{card.id} in {target}\n{sizes}\n"
        f"largest relative error of a rounded layer: {worst:.1e}\n"
        f"to fp32, on sentences that nothing was fitted to: {report.fidelity}\n"
        f"floor {card.floor}, ceiling {card.ceiling} (measured {report.floor}, {report.ceiling})"
    )


def read_recipe(file: Path, kind: type[T]) -> T:
    """A recipe from its JSON file. Raises SettingsInvalid naming what is wrong."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except OSError as error:
        raise SettingsInvalid(f"'{file.name}' is neither a recipe that memex knows nor a file to read.") from error
    except msgspec.MsgspecError as error:
        raise SettingsInvalid(f"'{file.name}' is not a recipe: {error}") from error
