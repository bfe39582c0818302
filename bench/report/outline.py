"""Figures of any shape as tables: what makes a new question show without code of its own."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bench.pairs import Interval
from bench.report.blocks import Block, Cell, Fold, Note, Table, marked
from bench.report.measures import measure
from bench.report.numbers import ABSENT, scalar, spread
from bench.results import Result

Path = tuple[str, ...]
"""Where a figure stands: the names above it and its own."""
MOST_ITEMS = 12
"""Of a plain list that is written out; a longer one is told by its count and ends."""


def everything(results: list[Result]) -> Fold:
    """All figures of all variants, closed."""
    return Fold("All figures", outlined(results))


def outlined(results: list[Result]) -> list[Block]:
    """Single figures as one table with a column for each variant, each list of like things as a table of its own."""
    leaves = [(result, dict(walk(result.figures))) for result in results]
    lists = [(result, path, value) for result, found in leaves for path, value in found.items() if is_records(value)]
    names = [path for _, found in leaves for path, value in found.items() if path and not is_records(value)]
    blocks: list[Block] = [figures(leaves, list(dict.fromkeys(names)))] if names else []
    blocks += [records(result, path, value) for result, path, value in lists]
    return blocks or [Note("The results have no figures.")]


def figures(leaves: list[tuple[Result, dict[Path, Any]]], paths: list[Path]) -> Table:
    """One line a figure, with unit and direction where the name tells them."""
    rows = []
    for path in paths:
        values = [Cell(shown(found[path]) if path in found else ABSENT) for _, found in leaves]
        rows.append([Cell(worded(path)), *values, Cell(unit(path))])
    return Table(
        "Single figures", ["figure", *(marked(result.variant, result) for result, _ in leaves), "unit, better"], rows
    )


def records(result: Result, path: Path, items: list[dict[str, Any]]) -> Table:
    """One line an item, one column a field that any of them has."""
    flat = [{worded(key): value for key, value in walk(item)} for item in items]
    head = list(dict.fromkeys(key for item in flat for key in item))
    noisy = bool(result.noisy)
    rows = [[Cell(shown(item.get(key)), noisy and at > 0) for at, key in enumerate(head)] for item in flat]
    return Table(f"{result.variant}: {worded(path)}", head, rows)


def worded(path: Path) -> str:
    """`reads · p50 ms`."""
    return " · ".join(path).replace("_", " ")


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf with its path; an interval is a leaf."""
    if isinstance(value, Mapping) and interval(value) is None:
        for name, inner in value.items():
            yield from walk(inner, (*path, str(name)))
    else:
        yield path, value


def interval(value: object) -> Interval | None:
    """The interval that `value` is, if it is one."""
    try:
        return msgspec.convert(value, Interval)
    except msgspec.ValidationError:
        return None


def is_records(value: object) -> bool:
    """Whether it is a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def shown(value: object) -> str:
    """A leaf as text."""
    if found := interval(value):
        return spread(found)
    if not isinstance(value, list):
        return scalar(value)
    if len(value) > MOST_ITEMS:
        return f"{len(value)} values, from {shown(value[0])} to {shown(value[-1])}"
    return ", ".join(shown(item) for item in value)


def unit(path: Path) -> str:
    """`ms, lower`, or nothing."""
    known = next((found for name in reversed(path) if (found := measure(name)).unit), None)
    return ", ".join(part for part in (known.unit, known.better) if part) if known else ""
