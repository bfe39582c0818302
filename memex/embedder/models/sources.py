"""A public model as it was published: in a folder, or in a jar or zip as Maven delivers it."""

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec

from memex.errors import ModelDamaged, ModelMissing, SettingsInvalid

T = TypeVar("T")

# Where publishers put the fp32 graph, the best place first.
GRAPHS = ("model.onnx", "onnx/model.onnx")
CONFIGURATIONS = (
    "1_Pooling/config.json",
    "config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)
LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md")
PAPERS = ("README.md",)
TOKENIZER = "tokenizer.json"
# Large weights lie in files beside their graph, whose names are inside it.
BESIDE = ("_data", ".data")


class Source(msgspec.Struct, frozen=True):
    """The files of a public model."""

    folder: Path
    graph: Path
    tokenizer: Path
    name: str
    """What the model is called where nobody says otherwise."""
    digest: str
    """SHA-256 of the graph."""

    def file(self, names: Sequence[str]) -> Path | None:
        """The first of the files that is there."""
        return next((self.folder / name for name in names if (self.folder / name).is_file()), None)

    @property
    def weights(self) -> list[Path]:
        """The files beside the graph that belong to it."""
        near = (path for path in self.graph.parent.iterdir() if path.name.startswith(self.graph.name))
        return sorted(path for path in near if path.name.removeprefix(self.graph.name).startswith(BESIDE))


@contextmanager
def open_source(path: Path, graph: str | None = None, name: str | None = None) -> Iterator[Source]:
    """The graph and the tokenizer in `path`, unpacked for as long as the context lasts.

    `graph` chooses among several, by its path within the source. Raises ModelMissing, SettingsInvalid.
    """
    if path.is_dir():
        yield find(path, name or path.resolve().name, graph)
    elif path.is_file() and zipfile.is_zipfile(path):
        with TemporaryDirectory() as folder:
            try:
                unpack(path, Path(folder))
            except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                raise ModelDamaged(f"'{path.name}' cannot be unpacked: {type(error).__name__}.") from error
            yield find(Path(folder), name or path.stem, graph)
    else:
        raise ModelMissing(f"'{path.name}' is neither a folder nor a jar with an .onnx file and its tokenizer.json.")


def unpack(archive: Path, folder: Path) -> None:
    """The files of the model only, in their folders below the one that holds them all."""
    with zipfile.ZipFile(archive) as content:
        wanted = [entry for entry in content.infolist() if is_wanted(PurePosixPath(entry.filename))]
        root = top([PurePosixPath(entry.filename) for entry in wanted])
        for entry in wanted:
            target = folder / PurePosixPath(entry.filename).relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            with content.open(entry) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)


def is_wanted(path: PurePosixPath) -> bool:
    """Whether an entry of an archive belongs to a model, and stays within the folder that it is unpacked to."""
    if path.is_absolute() or ".." in path.parts:
        return False
    beside = any(f".onnx{ending}" in path.name for ending in BESIDE)
    known = ("/".join(path.parts[-2:]) in CONFIGURATIONS) or path.name in (*CONFIGURATIONS, *LICENCES, *PAPERS)
    return path.name.endswith((".onnx", TOKENIZER)) or beside or known


def top(paths: list[PurePosixPath]) -> PurePosixPath:
    """The folder that the graphs and tokenizers have in common."""
    folders = [path.parent.parts for path in paths if path.name.endswith((".onnx", TOKENIZER))]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return PurePosixPath(*shared)


def find(folder: Path, name: str, graph: str | None = None) -> Source:
    """The graph, the one that was asked for or the best placed one, and the tokenizer of a folder."""
    chosen = pick(folder, graph)
    tokenizer = folder / TOKENIZER
    if not tokenizer.is_file():
        tokenizer = only(sorted(folder.glob(f"*{TOKENIZER}")), TOKENIZER)
    own = folder.joinpath(*PurePosixPath(chosen).parts)
    called = name if own.stem.startswith("model") else own.stem
    with own.open("rb") as file:
        return Source(folder, own, tokenizer, called, hashlib.file_digest(file, "sha256").hexdigest())


def pick(folder: Path, graph: str | None) -> str:
    """The path of the graph within the folder."""
    # Two levels and no more: somebody may name a folder that holds half the disk.
    found = sorted(path.relative_to(folder).as_posix() for glob in ("*.onnx", "*/*.onnx") for path in folder.glob(glob))
    return choose(found, graph)


def choose(found: Sequence[str], graph: str | None = None) -> str:
    """The graph to take of those that a source has. Raises ModelMissing or SettingsInvalid naming them."""
    if graph is not None:
        if graph not in found:
            raise SettingsInvalid(f"The source has no {graph}; it has {', '.join(found) or 'no .onnx file'}.")
        return graph
    placed = [name for name in GRAPHS if name in found]
    if not placed and len(found) > 1:
        raise SettingsInvalid(f"The source has several graphs, choose one with --graph: {', '.join(found)}.")
    return placed[0] if placed else only(found, ".onnx file")


def only(found: Sequence[T], what: str) -> T:
    """The only one there is. Raises ModelMissing."""
    if len(found) != 1:
        raise ModelMissing(f"The source must hold one {what}; it holds {len(found) or 'none'}.")
    return found[0]
