"""A tiny model as publishers lay it out: a hub repository, its place in the hub's cache, a jar."""

import json
import zipfile
from pathlib import Path

from tests.unit.embedder.models.building import tiny

REVISION = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
REPOSITORY = "maker/tiny-encoder"
HUB_ID = f"{REPOSITORY}@{REVISION}"
WINDOW = 30
PAGE = "---\nlicense: mit\ntags:\n- small\n---\n# Tiny\n"


def write_repository(folder: Path, *, pooling: str = "cls") -> Path:
    """As on a hub: the graph in a folder of its own, configuration in several files."""
    export = tiny.write_export(folder.parent / f"{folder.name}-export")
    for name in ("onnx", "1_Pooling"):
        (folder / name).mkdir(parents=True)
    (export / "tiny.onnx").rename(folder / "onnx" / "model.onnx")
    (export / "tiny-tokenizer.json").rename(folder / "tokenizer.json")
    files = {
        "1_Pooling/config.json": {f"pooling_mode_{pooling}_token": True, "pooling_mode_max_tokens": False},
        "config.json": {"model_type": "bert", "max_position_embeddings": tiny.WINDOW},
        "tokenizer_config.json": {"model_max_length": 10**30},
        "sentence_bert_config.json": {"max_seq_length": WINDOW},
        "config_sentence_transformers.json": {"prompts": {"query": "ask: ", "document": "doc: "}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    (folder / "README.md").write_text(PAGE, "utf-8")
    return folder


def write_cache(cache: Path) -> Path:
    """As the hub's library keeps what it has downloaded; the snapshot's folder."""
    place = cache / "models--maker--tiny-encoder"
    snapshot = place / "snapshots" / REVISION
    snapshot.parent.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(REVISION)
    return write_repository(snapshot)


def write_jar(file: Path) -> Path:
    """As Maven delivers one: a graph and a tokenizer with a name in front, and nothing about their use."""
    export = tiny.write_export(file.parent / f"{file.stem}-export")
    with zipfile.ZipFile(file, "w") as jar:
        jar.write(export / "tiny.onnx", "bge-small-en-tiny.onnx")
        jar.write(export / "tiny-tokenizer.json", "bge-small-en-tiny-tokenizer.json")
        jar.writestr("../escape-tokenizer.json", "{}")
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    return file
