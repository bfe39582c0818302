"""Finds the public fp32 files: in a folder, or in a jar or zip as Maven delivers it."""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from memex.errors import ModelMissing


class Source(msgspec.Struct, frozen=True):
    """A public model as it was published."""

    graph: Path
    tokenizer: Path
    digest: str
    """SHA-256 of the graph."""


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """The fp32 graph and its tokenizer in `path`, unpacked for as long as the context lasts."""
    if path.is_dir():
        yield find(path)
    elif path.is_file() and zipfile.is_zipfile(path):
        with TemporaryDirectory() as folder:
            unpack(path, Path(folder))
            yield find(Path(folder))
    else:
        raise ModelMissing(f"'{path.name}' is neither a folder nor a jar with an .onnx file and its tokenizer.json.")


def unpack(archive: Path, folder: Path) -> None:
    """The files of the model only, without their folders."""
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            if entry.filename.endswith((".onnx", "tokenizer.json")):
                (folder / Path(entry.filename).name).write_bytes(content.read(entry))


def find(folder: Path) -> Source:
    """The one graph and the one tokenizer of a folder."""
    graph, tokenizer = one(folder, "*.onnx"), one(folder, "*tokenizer.json")
    with graph.open("rb") as file:
        return Source(graph, tokenizer, hashlib.file_digest(file, "sha256").hexdigest())


def one(folder: Path, pattern: str) -> Path:
    """The only file of that name."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ModelMissing(f"The source must hold exactly one {pattern}; it holds {len(found)}.")
    return found[0]
