"""Where the time goes: shares of the samples by layer and by function."""

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.blocks import Answer, Block, Cell, Table, marked
from bench.report.numbers import listed, number
from bench.report.outline import everything
from bench.report.plots import Row, bars
from bench.report.reading import figure, service
from bench.results import Result

SIDES = {"native": "all code, by perf", "python": "Python threads, by py-spy"}
"""Both profiles of a result, and what they saw."""
FUNCTIONS = ("symbols", "functions")
SAID, TOP = 3, 12


def profile(results: list[Result]) -> Answer:
    """Bars of the layers, tables of the functions that cost most."""
    rows = [row for result in results for row in layer_rows(result)]
    if not rows:
        raise ValueError("no layers in the figures")
    blocks: list[Block] = [bars("profile-layers", "Share of the samples by layer, %", rows)]
    blocks += [table for result in results for table in function_tables(result)]
    return Answer(" ".join(map(heaviest, results)), [*blocks, everything(results)])


def layers(result: Result, side: str) -> list[tuple[str, float]]:
    """Layers with their shares in percent, the heaviest first."""
    found = (result.figures.get(side) or {}).get("layers", {})
    shares = [(name, share) for name in found if (share := figure(found, name))]
    return sorted(shares, key=lambda pair: -pair[1])


def layer_rows(result: Result) -> Iterator[Row]:
    """One bar a layer."""
    for at, (side, seen) in enumerate(SIDES.items()):
        for name, share in layers(result, side):
            group, noisy = f"{result.variant}: {seen}", bool(result.noisy)
            yield Row(name, share, f"{number(share)} %", series=at, group=group, noisy=noisy)


def function_tables(result: Result) -> Iterator[Table]:
    """The functions of each profile with the highest own time."""
    for side, seen in SIDES.items():
        profiled = result.figures.get(side) or {}
        found: list[dict[str, Any]] = next((profiled[name] for name in FUNCTIONS if profiled.get(name)), [])
        if found:
            rows = [function_row(result, item) for item in found[:TOP]]
            caption = f"{result.variant}: {seen}; own time in % of the samples"
            yield Table(caption, ["function", "where", "own"], rows)


def function_row(result: Result, item: Mapping[str, Any]) -> list[Cell]:
    """Name, file or library, own time."""
    where = item.get("library") or item.get("file") or ""
    own = number(figure(item, "own") or 0.0)
    return [Cell(str(item.get("name", ""))), Cell(str(where)), Cell(own, bool(result.noisy))]


def heaviest(result: Result) -> str:
    """The first layers of the profile that saw most."""
    found = next((shares for side in SIDES if (shares := layers(result, side))), [])
    said = listed([f"{name} {number(share)} %" for name, share in found[:SAID]] or ["no layers"])
    return (
        marked(f"{service(result)}, {result.variant.removeprefix(service(result)).strip('-')} texts: {said}", result)
        + "."
    )
