"""Opens a model directory, and refuses one whose files are not those that its card names."""

import hashlib
from pathlib import Path

import msgspec

from memex.embedder.models import card as cards
from memex.embedder.models.card import Card
from memex.errors import ModelDamaged, ModelMissing

PACKAGED = Path(__file__).parent
CARD = "model.json"
GRAPH = "model.onnx"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
REQUIRED = (GRAPH, TOKENIZER)
REMEDY = {
    True: "install memex again",
    False: "make the directory again with `memex model add` or `memex model build`, or set EMBEDDING_MODEL to another",
}


class ModelDirectory(msgspec.Struct, frozen=True):
    """A directory whose every file was checked against its card."""

    path: Path
    card: Card

    @property
    def graph(self) -> Path:
        """The ONNX graph. It finds its weights beside itself, so it must be loaded by path."""
        return self.path / GRAPH

    @property
    def weights(self) -> Path | None:
        """The int8 weights of the native encoder; None for a graph that carries its own."""
        return self.path / WEIGHTS if WEIGHTS in self.card.files else None

    @property
    def tokenizer(self) -> Path:
        """The tokenizer, without padding and truncation."""
        return self.path / TOKENIZER


def open_model(name_or_path: str) -> ModelDirectory:
    """The packaged model of that name, or the one in that directory.

    Raises ModelMissing where the directory or a file of it is not there or not readable, and
    ModelDamaged where a file's SHA-256 is not the card's. Reads every byte once (about 0.1 s).
    """
    path = locate(name_or_path)
    card = read_card(path)
    for name, expected in sorted(card.files.items()):
        check(path, name, expected)
    return ModelDirectory(path, card)


def locate(name_or_path: str) -> Path:
    """The directory meant; a packaged name comes before a path."""
    packaged = PACKAGED / name_or_path
    if name_or_path in packaged_models():
        return packaged
    path = Path(name_or_path).expanduser()
    if not path.is_dir():
        known = ", ".join(packaged_models()) or "none"
        raise ModelMissing(
            f"There is no model '{name_or_path}': "
            f"set EMBEDDING_MODEL to a model directory or to a packaged model ({known})."
        )
    return path


def packaged_models() -> list[str]:
    """The names of the models inside the package."""
    return sorted(found.parent.name for found in PACKAGED.glob(f"*/{CARD}"))


def read_card(path: Path) -> Card:
    """The card of a directory, consistent in itself."""
    try:
        card = cards.decode(read(path, CARD))
    except msgspec.MsgspecError as error:
        raise damaged(path, CARD, f"is not a model card ({error})") from error
    absent = [name for name in REQUIRED if name not in card.files]
    if absent:
        raise damaged(path, CARD, f"does not name {absent[0]}")
    if card.revision != cards.revision(card.files):
        raise damaged(path, CARD, "has a revision that does not fit its files")
    return card


def read(path: Path, name: str) -> bytes:
    """The bytes of a small file."""
    try:
        return (path / name).read_bytes()
    except OSError as error:
        raise missing(path, name, error) from error


def check(path: Path, name: str, expected: str) -> None:
    """One file against its SHA-256 from the card."""
    try:
        found = digest(path / name)
    except OSError as error:
        raise missing(path, name, error) from error
    if found != expected:
        raise damaged(path, name, f"does not have the SHA-256 that {CARD} gives")


def digest(file: Path) -> str:
    """SHA-256 of a file in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def missing(path: Path, name: str, error: OSError) -> ModelMissing:
    """What to say of a file that cannot be read; the system's own words hold no path."""
    return ModelMissing(f"{where(path, name)} cannot be read ({error.strerror}): {remedy(path)}.")


def damaged(path: Path, name: str, fault: str) -> ModelDamaged:
    """What to say of a file that is not what it should be."""
    return ModelDamaged(f"{where(path, name)} {fault}: {remedy(path)}.")


def where(path: Path, name: str) -> str:
    """A file by its name and its model's, without the path to it."""
    return f"{name} of the model '{path.resolve().name}'"


def remedy(path: Path) -> str:
    """What the operator can do, which depends on who put the directory there."""
    return REMEDY[path.parent == PACKAGED]
