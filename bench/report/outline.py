"""Figures of any shape as tables: what makes a new question show without code of its own."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bench.pairs import Interval
from bench.report.blocks import Block, Cell, Fold, Note, Table, cells
from bench.report.measures import measure
from bench.report.numbers import scalar, spread
from bench.results import Result

MOST_ITEMS = 12
"""Of a plain list that is written out; a longer one is told by its count and ends."""


def outlined(result: Result) -> list[Block]:
    """Its single figures as one table, and each list of like things as a table of its own."""
    leaves = list(walk(result.figures))
    single = [(path, value) for path, value in leaves if not is_records(value)]
    blocks: list[Block] = [figures(result, single)] if single else []
    blocks += [records(result, path, value) for path, value in leaves if is_records(value)]
    return blocks or [Note(f"{result.variant}: the result has no figures.")]


def everything(results: list[Result]) -> Fold:
    """All figures of all variants, closed."""
    return Fold("All figures", [block for result in results for block in outlined(result)])


def figures(result: Result, leaves: list[tuple[tuple[str, ...], Any]]) -> Table:
    """One line a figure, with unit and direction where the name tells them."""
    noisy = bool(result.noisy)
    rows = [cells(" · ".join(path) or "–", shown(value), unit(path), noisy=noisy) for path, value in leaves]
    return Table(f"{result.variant}", ["figure", "value", "unit, better"], rows)


def records(result: Result, path: tuple[str, ...], items: list[dict[str, Any]]) -> Table:
    """One line an item, one column a field that any of them has."""
    flat = [{" · ".join(key): value for key, value in walk(item)} for item in items]
    head = list(dict.fromkeys(key for item in flat for key in item))
    noisy = bool(result.noisy)
    rows = [[Cell(shown(item.get(key)), noisy and at > 0) for at, key in enumerate(head)] for item in flat]
    return Table(f"{result.variant}: {' · '.join(path)}", head, rows)


def walk(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
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


def unit(path: tuple[str, ...]) -> str:
    """`ms, lower`, or nothing."""
    known = next((found for name in reversed(path) if (found := measure(name)).unit), None)
    return ", ".join(part for part in (known.unit, known.better) if part) if known else ""
