"""How near answers are to exact ones: vectors to those in fp32, an approximate index to an exact search."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.blocks import Answer, Cell, Table, marked
from bench.report.numbers import ABSENT, number
from bench.report.outline import everything
from bench.report.reading import figure
from bench.results import Result

ENGINES = ("native", "onnxruntime")
FIELDS = {"least_cosine": "least cosine", "mean_cosine": "mean cosine", "overlap@10": "overlap@10"}
RECALL = re.compile(r"recall_at_(\d+)_of_(\d+)")


def fidelity(results: list[Result]) -> Answer:
    """One line a set and engine."""
    rows = [row for result in results for row in vector_rows(result)]
    if not rows:
        raise ValueError("no cosines in the figures")
    caption = "Cosine to the fp32 vector, and the share of the ten nearest texts that stay so; higher is better"
    table = Table(caption, ["texts", "engine", *FIELDS.values()], rows)
    return Answer(" ".join(map(near, results)), [table, everything(results)])


def vector_rows(result: Result) -> Iterator[list[Cell]]:
    """Of one model."""
    for name, found in result.figures.items():
        for engine in ENGINES:
            values = [figure(found, engine, field) for field in FIELDS]
            if any(value is not None for value in values):
                cells = [Cell(ABSENT if value is None else number(value), bool(result.noisy)) for value in values]
                yield [Cell(f"{result.variant}: {name}"), Cell(engine), *cells]


def near(result: Result) -> str:
    """All sets together, engine by engine."""
    said = [text for engine in ENGINES if (text := engine_said(engine, result.figures.get("all")))]
    moved = figure(result.figures, "moved_by_batch")
    batch = "" if moved is None else f"; vectors that depend on their batch: {number(moved)}"
    return marked(f"{result.variant}: {', '.join(said) or 'by set below'}{batch}", result) + "."


def engine_said(engine: str, found: Any) -> str:
    """`native cosine 0.99972 on average, 0.99941 at least, overlap@10 0.981`; nothing where a figure lacks."""
    mean, least, overlap = (figure(found, engine, name) for name in ("mean_cosine", "least_cosine", "overlap@10"))
    if mean is None or least is None or overlap is None:
        return ""
    return f"{engine} cosine {number(mean)} on average, {number(least)} at least, overlap@10 {number(overlap)}"


def missed(results: list[Result]) -> Answer:
    """One line for each size of a user: recall and hits."""
    rows = [row for result in results for row in recall_rows(result)]
    if not rows:
        raise ValueError("no recall in the figures")
    caption = "Share of the exact answer that was found, 0 to 1, and hits a question; higher is better"
    table = Table(caption, ["memories of the user", "recall", "hits", "model"], rows)
    return Answer(" ".join(map(recall_said, results)), [table, everything(results)])


def recalls(figures: Mapping[str, Any]) -> list[tuple[int, int, float]]:
    """Memories of the user, k, recall: from the smallest user to the largest."""
    found = [(RECALL.fullmatch(name), figure(figures, name)) for name in figures]
    return sorted((int(match[2]), int(match[1]), value) for match, value in found if match and value is not None)


def recall_rows(result: Result) -> Iterator[list[Cell]]:
    """Of one model."""
    for size, k, recall in recalls(result.figures):
        hits = figure(result.figures, f"hits_of_{size}")
        found = ABSENT if hits is None else f"{number(hits)} of {k}"
        noisy = bool(result.noisy)
        yield [Cell(f"{size:,}"), Cell(f"{recall:.2f}", noisy), Cell(found, noisy), Cell(result.variant)]


def recall_said(result: Result) -> str:
    """`recall@5 1.00 for a user of 10 memories, 1.00 of 100, 0.15 of 1,000`."""
    (first, k, recall), *others = recalls(result.figures)
    said = [f"recall@{k} {recall:.2f} for a user of {first:,} memories"]
    said += [f"{value:.2f} of {size:,}" for size, _, value in others]
    return marked(f"{result.variant}: {', '.join(said)}", result) + "."
