"""A against B, interleaved: the ratio of each figure with its interval, and the pairs it comes from."""

import statistics

from bench.pairs import Comparison, Interval
from bench.report.blocks import Answer, Block, Cell, Table, marked
from bench.report.measures import measure
from bench.report.numbers import number, spread
from bench.report.plots import Row, intervals
from bench.report.reading import comparisons, setting
from bench.results import Result

LEADING = ("requests_per_second", "cpu_ms_both")
"""What the summary tells, if it was compared."""
DRAWN = ("requests_per_second", "p50_ms", "p99_ms", "cpu_ms_both", "cpu_ms_service", "cpu_ms_postgres")
"""What is drawn, if any of it was compared; the others stand in the tables."""


def versus(results: list[Result]) -> Answer:
    """A forest plot of all ratios, then each comparison's table."""
    found = [(result, place, pair) for result in results for place, pair in comparisons(result.figures)]
    rows = [row for result, place, pair in found for row in ratio_rows(result, place, pair)]
    if not rows:
        raise ValueError("no comparison in the figures")
    caption = (
        "Ratio first / second: median of the pairs with its 95 % interval, each pair a small dot. "
        "↑ above 1 is better, ↓ below 1 is"
    )
    plot = intervals(f"{results[0].question}-ratios", caption, rows, mark=1.0, log=True)
    tables: list[Block] = [table(result, place, pair) for result, place, pair in found]
    return Answer(" ".join(sentence(result, place, pair) for result, place, pair in found), [plot, *tables])


def heading(result: Result, place: str) -> str:
    """What is compared: load, texts and both sides, as far as the settings tell."""
    load, texts, first, second = (result.settings.get(name) for name in ("load", "texts", "first", "second"))
    share = f", {writes}" if (writes := setting(result, "write_share")) else ""
    said = f"{load}, {texts} texts{share}: {first} / {second}" if load and first else result.variant
    return f"{said}, {place}" if place else said


def ratio_rows(result: Result, place: str, pair: Comparison) -> list[Row]:
    """One dot a figure."""
    return [
        Row(
            f"{measure(name).title} {direction(name)}".strip(),
            ratio.value,
            text=spread(ratio),
            group=heading(result, place),
            low=ratio.low,
            high=ratio.high,
            points=single(pair, name),
            noisy=bool(result.noisy),
        )
        for name, ratio in drawn(pair).items()
        if min(ratio.low, ratio.value) > 0
    ]


def drawn(pair: Comparison) -> dict[str, Interval]:
    """The ratios that are drawn."""
    return {name: pair.ratios[name] for name in DRAWN if name in pair.ratios} or pair.ratios


def single(pair: Comparison, name: str) -> tuple[float, ...]:
    """The ratio of each pair that is above 0."""
    both = zip(pair.first, pair.second, strict=True)
    return tuple(a[name] / b[name] for a, b in both if a.get(name, 0) > 0 and b.get(name, 0) > 0)


def direction(name: str) -> str:
    """Up where a ratio above 1 is good for the first, down where one below 1 is."""
    return {"higher": "↑", "lower": "↓"}.get(measure(name).better, "")


def table(result: Result, place: str, pair: Comparison) -> Table:
    """Medians of both sides, the ratio, and what may be said."""
    noisy = bool(result.noisy)
    rows = []
    for name, ratio in pair.ratios.items():
        sides = [number(statistics.median(side[name] for side in block)) for block in (pair.first, pair.second)]
        texts = [*sides, spread(ratio), verdict(name, ratio)]
        rows.append([Cell(measure(name).caption), *(Cell(text, noisy) for text in texts)])
    caption = f"{heading(result, place)}: medians over {len(pair.first)} pairs"
    return Table(caption, ["figure", *sides_of(result), "ratio [95 %]", "the first is"], rows)


def sides_of(result: Result) -> list[str]:
    """The names of both sides."""
    return [str(result.settings.get(side, side)) for side in ("first", "second")]


def verdict(name: str, ratio: Interval) -> str:
    """Better, worse, or not told apart: an interval that holds 1 says nothing."""
    if ratio.low <= 1 <= ratio.high:
        return "not told apart"
    better = measure(name).better
    if not better:
        return "higher" if ratio.value > 1 else "lower"
    return "better" if (ratio.value > 1) == (better == "higher") else "worse"


def sentence(result: Result, place: str, pair: Comparison) -> str:
    """The leading ratios, or the first."""
    names = [name for name in LEADING if name in pair.ratios] or list(pair.ratios)[:1]
    said = ", ".join(f"{measure(name).title} × {spread(pair.ratios[name])}" for name in names)
    return marked(f"{heading(result, place)}: {said}", result) + "."
