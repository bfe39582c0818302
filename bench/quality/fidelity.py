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
from memex.embedder.native import NativeEncoder

HALF = 25
NATIVE_EACH, NATIVE_MEAN, NATIVE_OVERLAP, RUNTIME_EACH = 0.9993, 0.9997, 0.96, 0.9995
NEAREST = 10
LENGTHS = (64, 128, 256, 384, 512)
BATCHES = (2, 7, 32)
# Larger batches of long texts are left out: they would take minutes and prove nothing new.
BATCH_TOKENS = 2048

Vectors = NDArray[np.float32]
Embed = Callable[[list[list[int]]], Vectors]


class Row(msgspec.Struct, frozen=True):
    """One set of texts, with its vectors in fp32 and from both engines."""

    name: str
    tokens: list[int]
    exact: Vectors
    native: Vectors
    runtime: Vectors

    def engines(self) -> list[tuple[str, Vectors]]:
        """Both engines' vectors by name."""
        return [("native", self.native), ("onnxruntime", self.runtime)]

    def cosines(self, vectors: Vectors) -> Vectors:
        """To fp32, text by text."""
        return np.asarray((vectors * self.exact).sum(1))

    def overlap(self, vectors: Vectors) -> float:
        """The part of a text's NEAREST others by fp32 that are among its NEAREST by `vectors`, mean over the texts."""
        both = zip(nearest(self.exact), nearest(vectors), strict=True)
        return float(np.mean([len(set(one) & set(other)) / NEAREST for one, other in both]))


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder with xquad, devbench and scifact.")
@click.option("--fp32", type=click.Path(path_type=Path), required=True, help="The public ONNX file.")
@click.option("--model", default="e5-small-v2", help="A packaged model or a model directory.")
def main(data: Path, fp32: Path, model: str) -> None:
    """Print least and mean cosine and the overlap of nearest texts, and how many vectors depend on their batch."""
    directory = open_model(model)
    with watched() as noise:
        rows, moved = compared(load(data), published(fp32), directory)
    for row in rows:
        click.echo(line(row))
    click.echo(f"vectors that change in batches (native: of all; onnxruntime: of {BATCHES} of equal length): {moved}")
    record(result(directory, rows, moved, noise))
    sys.exit(int(moved > 0 or not holds(rows[-1])))


def compared(sets: list[tuple[str, list[str]]], exact: Embed, directory: ModelDirectory) -> tuple[list[Row], int]:
    """Each set and all of them together, and how many vectors depend on their batch."""
    tokenizer = Tokenizer.from_file(str(directory.tokenizer))
    ids = {name: [e.ids[: directory.card.window] for e in tokenizer.encode_batch(texts)] for name, texts in sets}
    ids["window"] = windows(list(ids.values()))
    native, runtime = compiled(directory), packaged(directory)
    rows = [measure(name, texts, exact, native, runtime) for name, texts in ids.items()]
    everything = [text for texts in ids.values() for text in texts]
    moved = dependent(everything, runtime) + int((native(everything) != one_by_one(native, everything)).any(1).sum())
    return [*rows, joined("all", rows)], moved


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
    texts = {"texts": len(row.tokens), "tokens": [min(row.tokens), max(row.tokens)]}
    return texts | {name: nearness(row, vectors) for name, vectors in row.engines()}


def nearness(row: Row, vectors: Vectors) -> dict[str, float]:
    """Of one engine."""
    cosines = row.cosines(vectors)
    found = {"least_cosine": cosines.min(), "mean_cosine": cosines.mean(), f"overlap@{NEAREST}": row.overlap(vectors)}
    return {name: round(float(value), 5) for name, value in found.items()}


def nearest(vectors: Vectors) -> NDArray[np.intp]:
    """The NEAREST other texts of each, [texts, NEAREST]."""
    products = vectors @ vectors.T
    np.fill_diagonal(products, -np.inf)
    return np.argsort(-products, axis=1)[:, :NEAREST]


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
    return Row(name, [len(text) for text in ids], *(one_by_one(engine, ids) for engine in (exact, native, runtime)))


def one_by_one(embed: Embed, ids: list[list[int]]) -> Vectors:
    """Each text alone."""
    return np.concatenate([embed([text]) for text in ids])


def joined(name: str, rows: list[Row]) -> Row:
    """All sets as one."""
    tokens = [count for row in rows for count in row.tokens]
    parts = ("exact", "native", "runtime")
    return Row(name, tokens, *(np.concatenate([getattr(row, part) for row in rows]) for part in parts))


def line(row: Row) -> str:
    """One line of the table."""
    parts = [f"{name} {' '.join(map(str, nearness(row, vectors).values()))}" for name, vectors in row.engines()]
    return f"{row.name:17} {len(row.tokens):3} texts, {min(row.tokens)}-{max(row.tokens)} tokens  {'  '.join(parts)}"


def holds(row: Row) -> bool:
    """Whether the bounds that a packaged model must keep are kept."""
    native = row.cosines(row.native)
    near = native.min() >= NATIVE_EACH and native.mean() >= NATIVE_MEAN and row.overlap(row.native) >= NATIVE_OVERLAP
    return bool(near and row.cosines(row.runtime).min() >= RUNTIME_EACH)


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


def compiled(directory: ModelDirectory) -> Embed:
    """The native encoder."""
    if directory.weights is None:
        raise click.UsageError("The model has no weights file.")
    return NativeEncoder(directory.weights, directory.card, 1).encode


if __name__ == "__main__":
    main()
