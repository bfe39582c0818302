"""The encoder alone beside onnxruntime, and what surrounds it in a service."""

from collections.abc import Mapping
from typing import Any

from bench.report.blocks import Answer, Cell, Table, marked
from bench.report.numbers import ABSENT, number
from bench.report.outline import everything, shown
from bench.report.plots import Row, bars
from bench.report.reading import figure
from bench.results import Result

ENGINES = {"native": "native", "fp32": "onnxruntime, fp32", "stock": "onnxruntime, public int8"}
RATES, RATIOS = "texts_per_second", "native_by"
EMBEDDED = {
    "texts a second of 32 callers": ("callers_by_bare_encoder", "embed", "texts"),
    "texts a second of the encoder alone": ("callers_by_bare_encoder", "bare", "texts"),
    "callers / encoder alone": ("callers_by_bare_encoder", "ratio"),
    "one text, ms": ("one_text", "all_ms"),
    "one text, the encoder's part, ms": ("one_text", "encoder_ms"),
    "one text, queue, cache and Python, ms": ("one_text", "batcher_cache_python_ms"),
    "search among long writes, p50, ms": ("search_among_long_writes", "p50_ms"),
    "search among long writes, p99, ms": ("search_among_long_writes", "p99_ms"),
    "the longest pass that it may wait for, ms": ("search_among_long_writes", "bounded_pass_ms"),
    "p99 / that pass": ("search_among_long_writes", "p99_by_bounded_pass"),
    "a refusal, p50, ms": ("refusals", "p50_ms"),
    "a refusal, p99, ms": ("refusals", "p99_ms"),
}
"""What the table shows, and where it stands."""


def encoder(results: list[Result]) -> Answer:
    """Texts a second by case and engine, and the ratios."""
    rows = [row for result in results for name, found in measured(result).items() for row in rates(result, name, found)]
    if not rows:
        raise ValueError("no rates in the figures")
    plot = bars("encoder-rates", "Texts a second on one thread; higher is better", rows)
    tables = [ratio_table(result) for result in results]
    return Answer(" ".join(map(quickness, results)), [plot, *tables, everything(results)])


def measured(result: Result) -> dict[str, Mapping[str, Any]]:
    """The cases with their figures."""
    return {name: found for name, found in result.figures.items() if isinstance(found, Mapping) and RATES in found}


def rates(result: Result, name: str, found: Mapping[str, Any]) -> list[Row]:
    """A bar for each engine."""
    values = [(at, title, figure(found, RATES, engine)) for at, (engine, title) in enumerate(ENGINES.items())]
    return [Row(title, value, series=at, group=name, noisy=bool(result.noisy)) for at, title, value in values if value]


def ratio_table(result: Result) -> Table:
    """By case: how many times as fast the native encoder is, and how near to the processor's peak."""
    peaks = result.figures.get("peak") or {}
    rows = []
    for name, found in measured(result).items():
        values = [found.get(RATIOS, {}).get(kind) for kind in ("fp32", "stock")]
        rows.append([Cell(name), *(Cell(shown(value), bool(result.noisy)) for value in (*values, peaks.get(name)))])
    caption = f"{result.variant}: native / the faster way of onnxruntime [95 %], and the part of the int8 peak"
    return Table(caption, ["case", "by fp32", "by public int8", "of the peak"], rows)


def quickness(result: Result) -> str:
    """The range of the ratios, and what a second thread gives."""
    said = [f"{span(result, kind)} the speed of {ENGINES[kind]}" for kind in ("fp32", "stock") if span(result, kind)]
    if threads := figure(result.figures, "two threads by one"):
        said.append(f"two threads give {number(threads)} × one")
    return marked(f"The native encoder on one thread: {', '.join(said) or 'rates below'}", result) + "."


def span(result: Result, kind: str) -> str:
    """`1.42 to 4.61 ×`, nothing without ratios."""
    values = [value for found in measured(result).values() if (value := figure(found, RATIOS, kind))]
    return f"{number(min(values))} to {number(max(values))} ×" if values else ""


def embed(results: list[Result]) -> Answer:
    """One line a figure, one column a variant."""
    rows = [embed_row(results, title, path) for title, path in EMBEDDED.items()]
    if all(cell.text == ABSENT for row in rows for cell in row[1:]):
        raise ValueError("none of the known figures")
    head = ["", *(marked(result.variant, result) for result in results)]
    table = Table("Through the embedder, without HTTP; two threads", head, rows)
    return Answer(" ".join(map(surrounded, results)), [table, everything(results)])


def embed_row(results: list[Result], title: str, path: tuple[str, ...]) -> list[Cell]:
    """One figure of every variant."""
    return [Cell(title), *(Cell(shown(inside(result.figures, path))) for result in results)]


def inside(figures: Any, path: tuple[str, ...]) -> Any:
    """What stands at `path`; None if nothing does."""
    for name in path:
        figures = figures.get(name) if isinstance(figures, Mapping) else None
    return figures


def surrounded(result: Result) -> str:
    """What the surroundings cost, in throughput and in time."""
    parts = {
        "{} of the bare encoder's texts a second": ("callers_by_bare_encoder", "ratio"),
        "{} ms around one text": ("one_text", "batcher_cache_python_ms"),
        "a search among long writes waits {} of the longest pass (p99)": EMBEDDED["p99 / that pass"],
        "a refusal takes {} ms (p99)": ("refusals", "p99_ms"),
    }
    values = {words: figure(result.figures, *path) for words, path in parts.items()}
    said = [words.format(number(value)) for words, value in values.items() if value is not None]
    return marked(f"{result.variant}: {', '.join(said)}", result) + "."
