"""The models folder of a data directory: models that were added, each a model directory under its name."""

import logging
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import card as cards
from memex.embedder.models import directory, hub, probes
from memex.embedder.models.description import Description, Pooling, describe, licence_text
from memex.embedder.models.sources import Source, open_source
from memex.embedder.models.tokenizing import strip
from memex.errors import EncoderFailed, HomeUnusable, ModelDamaged, ModelMissing, SettingsInvalid

if TYPE_CHECKING:
    from memex.embedder.onnx import OnnxEncoder

log = logging.getLogger(__name__)

FOLDER = "models"
LICENCE = "LICENSE"
SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
LONGEST_NAME = 128
# Lengths to try where no file says how long a text may be.
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
# A window that the files name is tried with a text of at most so many tokens, which takes a tenth of a second.
TRIAL = 512


class Choice(msgspec.Struct, frozen=True):
    """What the operator says of a model; None leaves it to the model's files and to measuring."""

    name: str | None = None
    graph: str | None = None
    pooling: Pooling | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    floor: float | None = None
    ceiling: float | None = None


AS_IT_COMES = Choice()


class Shelf:
    """Added models are found by name, and hub ids by what their cards say they were made of."""

    def __init__(self, home: Path, progress: hub.Progress) -> None:
        """`home` is the data directory; nothing is made yet. `progress` hears of downloads."""
        self._folder = home / FOLDER
        self._progress = progress

    def models(self) -> list[directory.ModelDirectory]:
        """Every added model, the cards read, the files not checked. One without a sound card is only told of."""
        found = []
        for path in sorted(file.parent for file in self._folder.glob(f"*/{directory.CARD}")):
            try:
                found.append(directory.ModelDirectory(path, directory.read_card(path)))
            except (ModelMissing, ModelDamaged) as error:
                log.warning("%s", error.message)
        return found

    def locate(self, name: str) -> str:
        """What `open_model` takes for a value of EMBEDDING_MODEL; files that come as published are added first.

        Raises ModelMissing, ModelDamaged, SettingsInvalid, HomeUnusable.
        """
        if name in directory.packaged_models():
            return name
        added = there(self._folder / name / directory.CARD) if set(name) <= set(SAFE) else None
        card = added or (there(Path(name, directory.CARD)) if name else None)
        if card:
            return str(card.parent)
        log.info("looking for the model %s; where it has not been added yet, that is done now", name)
        return str(self.add(name, AS_IT_COMES, None))

    def add(self, source: str, choice: Choice, into: Path | None) -> Path:
        """The model directory made of a folder, a jar or a hub id, in the models folder or `into`; made once.

        Raises what `locate` raises.
        """
        path = there(Path(source)) if source else None
        if path:
            return self._make(path, path.name, choice, into, None)
        hub_id = hub.parse(source)
        if hub_id is None:
            raise ModelMissing(f"There is no model '{source}': {self._known()}.")
        made = next((model.path for model in self.models() if model.card.provenance.get("source") == str(hub_id)), None)
        if made and choice == AS_IT_COMES and into is None:
            return made
        return self._make(hub.fetch(hub_id, choice.graph, self._progress), str(hub_id), choice, into, hub_id.name)

    def _known(self) -> str:
        names = ", ".join([*directory.packaged_models(), *(model.path.name for model in self.models())])
        return (
            f"name one of {names}, a folder or jar with an .onnx file and its tokenizer.json, or a hub id at a commit"
        )

    def _make(self, path: Path, origin: str, choice: Choice, into: Path | None, name: str | None) -> Path:
        with open_source(path, choice.graph, name) as source:
            called = choice.name or source.name
            fit = set(called) <= set(SAFE) and not called.startswith(".") and len(called) <= LONGEST_NAME
            if not fit or called in directory.packaged_models():
                raise SettingsInvalid(f"'{called}' cannot be the name of an added model: choose one with --name.")
            target = into or self._folder / called
            if there(target):
                return same(target, source)
            return same(write(target, lambda work: fill(work, source, called, origin, choice)), source)


def there(path: Path) -> Path | None:
    """The path with `~` resolved if something is there. Nothing is where no file can be, such as a name too long."""
    try:
        path = path.expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError):  # the latter for the home of a user that there is not
        return None


def same(target: Path, source: Source) -> Path:
    """The directory that is there, if it was made of the same graph. Raises SettingsInvalid."""
    try:
        card = directory.read_card(target)
    except (ModelMissing, ModelDamaged):
        card = None
    if card is None or card.provenance.get("source_sha256") != source.digest:
        raise SettingsInvalid(f"'{target.name}' exists already and is another model: choose another name with --name.")
    return target


def write(target: Path, make: Callable[[Path], None]) -> Path:
    """The directory, whole or not at all, perhaps by somebody who was quicker."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".") as folder:
            work = Path(folder) / "model"
            work.mkdir()
            make(work)
            try:
                work.rename(target)
            except OSError:
                if not target.exists():
                    raise
    except OSError as error:
        raise HomeUnusable(f"The model directory '{target.name}' cannot be written: {error.strerror}.") from error
    return target


def fill(work: Path, source: Source, name: str, origin: str, choice: Choice) -> None:
    """The files and the card of an added model."""
    shutil.copyfile(source.graph, work / directory.GRAPH)
    for file in source.weights:
        shutil.copyfile(file, work / file.name)
    tokenizer = stripped(source.tokenizer)
    (work / directory.TOKENIZER).write_text(tokenizer, "utf-8", newline="\n")
    (work / LICENCE).write_text(licence_text(source), "utf-8", newline="\n")
    said = chosen(describe(source, name), choice)
    card = measure(work, name, said, choice)
    provenance = {
        "source": origin,
        "source_sha256": source.digest,
        "graph": source.graph.relative_to(source.folder).as_posix(),
        "basis": said.basis,
        "onnxruntime": version("onnxruntime"),
    }
    card = msgspec.structs.replace(card, provenance=provenance)
    prove(card)
    (work / directory.CARD).write_bytes(cards.encode(card))


def stripped(tokenizer: Path) -> str:
    """The JSON of a tokenizer that neither pads nor cuts. Raises ModelDamaged where the file is none."""
    try:
        return strip(tokenizer.read_text("utf-8"))
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelDamaged(f"{tokenizer.name} is not a tokenizer: {type(error).__name__}.") from error


def prove(card: cards.Card) -> None:
    """Raises SettingsInvalid where the service would refuse a card: nothing is made of it then."""
    try:
        cards.decode(cards.encode(card))
    except msgspec.MsgspecError as error:
        raise SettingsInvalid(f"The model '{card.name}' cannot be added: {error}.") from error
    if card.floor >= card.ceiling:
        raise SettingsInvalid(f"The floor ({card.floor}) must be below the ceiling ({card.ceiling}).")


def chosen(said: Description, choice: Choice) -> Description:
    """The description with what the operator says instead."""
    fields = ("pooling", "query_prefix", "passage_prefix")
    given = {field: getattr(choice, field) for field in fields if getattr(choice, field) is not None}
    basis = "; ".join([said.basis, *(f"{field} as told" for field in given)])
    return msgspec.structs.replace(said, **given, basis=basis)


def measure(work: Path, name: str, said: Description, choice: Choice) -> cards.Card:
    """The card, with what only running the model tells: window, dimensions, floor and ceiling."""
    from memex.embedder.onnx import OnnxEncoder  # noqa: PLC0415 (the service's parent only looks names up)

    encoder = OnnxEncoder(work / directory.GRAPH, said.pooling, 1)
    window = window_of(encoder, said.window)
    prefixes = probes.Prefixes(said.query_prefix, said.passage_prefix)
    try:
        probe = probes.run(encoder, open_tokenizer(work / directory.TOKENIZER), prefixes, window)
    except EncoderFailed as error:
        raise ModelDamaged(f"The model '{name}' gives no vectors of unit length.") from error
    files = {path.name: directory.digest(path) for path in sorted(work.iterdir())}
    return cards.Card(
        name=name,
        revision=cards.revision(files),
        dimensions=probe.questions.shape[1],
        pooling=said.pooling,
        window=window,
        query_prefix=said.query_prefix,
        passage_prefix=said.passage_prefix,
        floor=probe.floor if choice.floor is None else choice.floor,
        ceiling=probe.ceiling if choice.ceiling is None else choice.ceiling,
        licence=said.licence,
        files=files,
        provenance={},
    )


def window_of(encoder: "OnnxEncoder", said: int | None) -> int:
    """The most tokens of a text: what the files say, or the longest that runs. Raises ModelDamaged."""
    lengths = [min(said, TRIAL)] if said else LENGTHS
    longest = 0
    for length in lengths:
        if not encoder.takes(length):
            break
        longest = length
    if not longest:
        raise ModelDamaged(f"The graph does not run with a text of {lengths[0]} tokens.")
    return said or longest
