"""What `memex model` does."""

from pathlib import Path
from typing import TypeVar

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memex.embedder.models import open_model
from memex.embedder.models.directory import packaged_models
from memex.errors import SettingsInvalid

T = TypeVar("T")


def packaged() -> str:
    """One line per packaged model, every file checked."""
    cards = [open_model(name).card for name in packaged_models()]
    lines = (f"{c.name}  {c.dimensions} dimensions, {c.licence}, revision {c.revision}" for c in cards)
    return "\n".join(lines)


def build(source: Path, target: Path, recipe: str) -> str:
    """Makes the model directory `target` from the public fp32 files in `source`; what it is, in lines to print.

    `recipe` is a name that memex knows, or a JSON file with the fields of a Recipe. Call
    `environment.single_threaded` before this module is imported.
    """
    try:
        from memex.embedder.models import build as building  # noqa: PLC0415 (a development tool)
    except ModuleNotFoundError as error:
        raise SettingsInvalid(f"Building a model needs the package {error.name}: `make check` installs it.") from error
    chosen = building.RECIPES.get(recipe) or read_recipe(Path(recipe), building.Recipe)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("rounding layers")
        report = building.build(
            source, target, chosen, lambda _, done, whole: bar.update(task, completed=done, total=whole)
        )
    sizes = "\n".join(f"  {name}  {size:,} bytes" for name, size in report.sizes.items())
    worst = max(report.losses.values())
    return f"{report.card.id} in {target}\n{sizes}\nlargest relative error of a rounded layer: {worst:.1e}"


def read_recipe(file: Path, kind: type[T]) -> T:
    """A recipe from its JSON file. Raises SettingsInvalid naming what is wrong."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except OSError as error:
        raise SettingsInvalid(f"'{file.name}' is neither a recipe that memex knows nor a file to read.") from error
    except msgspec.MsgspecError as error:
        raise SettingsInvalid(f"'{file.name}' is not a recipe: {error}") from error
