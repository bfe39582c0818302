"""How soon a large space is in memory, and how soon another process sees a write."""

from bench.report.blocks import Answer, marked
from bench.report.numbers import number
from bench.report.outline import outlined
from bench.report.reading import figure
from bench.results import Result


def residency(results: list[Result]) -> Answer:
    """Every figure, under a sentence."""
    return Answer(" ".join(marked(said(result), result) + "." for result in results), outlined(results))


def said(result: Result) -> str:
    """`100,000 memories loaded in 0.9 s (median), 1,310 bytes each, 400 of 400 writes in another's next search`."""
    figures = result.figures
    rows, seconds = result.settings.get("rows"), figure(figures, "alone", "load_s_median")
    size = figure(figures, "bytes_per_row")
    loaded = f"{number(rows)} memories loaded in {number(seconds)} s (median)" if rows and seconds is not None else ""
    held = f"{number(size)} bytes each" if size is not None else ""
    ways = figures.get("write_to_search", {}).values()
    found, writes = (sum(way[name] for way in ways) for name in ("in_the_next_search", "writes"))
    seen = f"{number(found)} of {number(writes)} writes in another process's next search" if writes else ""
    return ", ".join(part for part in (loaded, held, seen) if part) or f"{result.variant}: figures below"
