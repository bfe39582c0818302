"""How near a model directory's vectors are to those of the public fp32 file.

Measured on 200 texts of public sets and on 20 joined of them: of each of four sets one of each length in LENGTHS.

python -m bench.quality.fidelity --data PATH --fp32 FILE.onnx [--model NAME_OR_PATH]
"""

import csv
import io
import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bench.noise import Noise, watched
from bench.results import Result, record
from memex.embedder.models import ModelDirectory, open_model
from tests.oracles.encoder import Encoder

HALF = 25
NATIVE_EACH, NATIVE_MEAN, RUNTIME_EACH = 0.9993, 0.9997, 0.9995
LENGTHS = (64, 128, 256, 384, 512)
BATCHES = (2, 7, 32)
# Larger batches of long texts are left out: they would take minutes and prove nothing new.
BATCH_TOKENS = 2048

Vectors = NDArray[np.float32]
Embed = Callable[[list[list[int]]], Vectors]


class Row(msgspec.Struct, frozen=True):
    """One set of texts, with the cosines to fp32 of both engines."""

    name: str
    tokens: list[int]
    native: Vectors
    runtime: Vectors


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder with xquad, devbench and scifact.")
@click.option("--fp32", type=click.Path(path_type=Path), required=True, help="The public ONNX file.")
@click.option("--model", default="e5-small-v2", help="A packaged model or a model directory.")
def main(data: Path, fp32: Path, model: str) -> None:
    """Print cosines of the native arithmetic and of onnxruntime, and how many vectors depend on their batch."""
    directory = open_model(model)
    with watched() as noise:
        rows, moved = compared(load(data), published(fp32), directory)
    for row in rows:
        click.echo(line(row))
    click.echo(f"vectors that change in batches of {BATCHES} texts of equal length: {moved}")
    record(result(directory, rows, moved, noise))
    sys.exit(int(moved > 0 or not holds(rows[-1])))


def compared(sets: list[tuple[str, list[str]]], exact: Embed, directory: ModelDirectory) -> tuple[list[Row], int]:
    """Each set and all of them together, and how many vectors depend on their batch."""
    tokenizer = Tokenizer.from_file(str(directory.tokenizer))
    ids = {name: [e.ids[: directory.card.window] for e in tokenizer.encode_batch(texts)] for name, texts in sets}
    ids["window"] = windows(list(ids.values()))
    native, runtime = simulated(directory), packaged(directory)
    rows = [measure(name, texts, exact, native, runtime) for name, texts in ids.items()]
    return [*rows, joined("all", rows)], dependent([text for texts in ids.values() for text in texts], runtime)


def result(directory: ModelDirectory, rows: list[Row], moved: int, noise: Noise) -> Result:
    """What is written down."""
    return Result(
        question="fidelity",
        variant=directory.card.name,
        figures={row.name: figures(row) for row in rows} | {"moved_by_batch": moved},
        settings={"model": directory.card.id, "revision": directory.card.revision, "batches": BATCHES},
        warm_up="none: no figure is a time",
        noise=[noise],
    )


def figures(row: Row) -> dict[str, Any]:
    """One set's cosines."""
    cosines = {
        name: {"least_cosine": round(float(part.min()), 5), "mean_cosine": round(float(part.mean()), 5)}
        for name, part in engines(row)
    }
    return {"texts": len(row.tokens), "tokens": [min(row.tokens), max(row.tokens)], **cosines}


def load(data: Path) -> list[tuple[str, list[str]]]:
    """Fifty texts of each set, in their roles."""
    sets = [(f"xquad-{code}", xquad(data / "xquad" / f"xquad.{code}.json")) for code in ("en", "zh", "ru")]
    return [*sets, ("devbench/scifact", devbench(data) + scifact(data))]


def xquad(path: Path) -> list[str]:
    """Questions and paragraphs in equal parts."""
    paragraphs = [p for article in json.loads(path.read_text("utf-8"))["data"] for p in article["paragraphs"]]
    questions = spread([qa["question"] for p in paragraphs for qa in p["qas"]], HALF)
    return queries(questions) + passages(spread([p["context"] for p in paragraphs], HALF))


def devbench(data: Path) -> list[str]:
    """Short technical memories."""
    memories = json.loads((data / "devbench" / "devbench_dataset.json").read_text("utf-8"))["memories"]
    return passages(spread([memory["content"] for memory in memories], HALF))


def scifact(data: Path) -> list[str]:
    """Claims as queries and abstracts as passages."""
    with zipfile.ZipFile(data / "scifact" / "scifact.zip") as archive:
        claims = spread(column(archive, "claims_validation.csv", "claim"), 12)
        abstracts = spread(column(archive, "corpus_train.csv", "abstract"), 13)
    return queries(claims) + passages(abstracts)


def column(archive: zipfile.ZipFile, name: str, field: str) -> list[str]:
    """One column of a CSV file."""
    with archive.open(name) as file:
        return [row[field] for row in csv.DictReader(io.TextIOWrapper(file, "utf-8"))]


def spread(items: Sequence[str], count: int) -> list[str]:
    """`count` of them at equal distances."""
    return [items[index * len(items) // count] for index in range(count)]


def queries(texts: list[str]) -> list[str]:
    """Texts as what is looked for."""
    return [f"query: {text}" for text in texts]


def passages(texts: list[str]) -> list[str]:
    """Texts as what is found."""
    return [f"passage: {text}" for text in texts]


def windows(sets: list[list[list[int]]]) -> list[list[int]]:
    """Texts of one set joined and cut to each length up to the window."""
    runs = [[token for text in texts for token in text[1:-1]] for texts in sets]
    ends = (sets[0][0][:1], sets[0][0][-1:])
    return [ends[0] + run[: length - 2] + ends[1] for run in runs for length in LENGTHS]


def measure(name: str, ids: list[list[int]], exact: Embed, native: Embed, runtime: Embed) -> Row:
    """One set through all three."""
    truth = one_by_one(exact, ids)
    cosines = [(one_by_one(engine, ids) * truth).sum(1) for engine in (native, runtime)]
    return Row(name, [len(text) for text in ids], *cosines)


def one_by_one(embed: Embed, ids: list[list[int]]) -> Vectors:
    """Each text alone."""
    return np.concatenate([embed([text]) for text in ids])


def joined(name: str, rows: list[Row]) -> Row:
    """All sets as one."""
    tokens = [count for row in rows for count in row.tokens]
    return Row(name, tokens, *(np.concatenate([getattr(row, part) for row in rows]) for part in ("native", "runtime")))


def line(row: Row) -> str:
    """One line of the table."""
    parts = [f"{name} min {part.min():.5f} mean {part.mean():.5f}" for name, part in engines(row)]
    return f"{row.name:17} {len(row.tokens):3} texts, {min(row.tokens)}-{max(row.tokens)} tokens  {'  '.join(parts)}"


def engines(row: Row) -> list[tuple[str, Vectors]]:
    """Both engines' cosines by name."""
    return [("native", row.native), ("onnxruntime", row.runtime)]


def holds(row: Row) -> bool:
    """Whether the bounds that a packaged model must keep are kept."""
    native = row.native.min() >= NATIVE_EACH and row.native.mean() >= NATIVE_MEAN
    return bool(native and row.runtime.min() >= RUNTIME_EACH)


def dependent(ids: list[list[int]], embed: Embed) -> int:
    """How many vectors differ in any bit between a text alone and a batch of equal lengths."""
    moved = 0
    for length in sorted({len(text) for text in ids}):
        group = [text for text in ids if len(text) == length]
        alone = one_by_one(embed, group)
        for size in (size for size in BATCHES if size * length <= BATCH_TOKENS):
            batch = [number % len(group) for number in range(size)]
            moved += int((embed([group[number] for number in batch]) != alone[batch]).any(1).sum())
    return moved


def session(path: Path, *, quantised: bool) -> onnxruntime.InferenceSession:
    """A single-threaded session."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if quantised:
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(path), options)


def feed(ids: list[list[int]]) -> dict[str, Any]:
    """Inputs of texts of equal length."""
    tokens = np.array(ids, np.int64)
    return {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}


def published(path: Path) -> Embed:
    """The public file, pooled and normalised."""
    model = session(path, quantised=False)

    def embed(ids: list[list[int]]) -> Vectors:
        inputs = feed(ids)
        types = {"token_type_ids": np.zeros_like(inputs["input_ids"])}
        means = model.run(None, inputs | types)[0].mean(1)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)

    return embed


def packaged(directory: ModelDirectory) -> Embed:
    """The directory's own graph."""
    model = session(directory.graph, quantised=True)
    return lambda ids: np.asarray(model.run(None, feed(ids))[0])


def simulated(directory: ModelDirectory) -> Embed:
    """The native encoder's arithmetic."""
    if directory.weights is None:
        raise click.UsageError("The model has no weights file.")
    encoder = Encoder(directory.weights)
    return lambda ids: np.stack([encoder(text) for text in ids])


if __name__ == "__main__":
    main()
