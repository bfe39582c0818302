"""memex beside the reference, case by case: bars, a table, and who is missing."""

from collections.abc import Sequence

from bench.report.blocks import Cell, Note, Plot, Table
from bench.report.measures import measure
from bench.report.numbers import ABSENT, number
from bench.report.plots import Row, bars
from bench.report.reading import SERVICES, by_case, case, cases, figure, series, service
from bench.results import Result


def by_service(name: str, caption: str, results: list[Result], figure_name: str) -> Plot | None:
    """A bar for each service in each case that has the figure; None if none has."""
    ordered = [(result, figure(result.figures, figure_name)) for result in by_case(results)]
    rows = [row(result, value) for result, value in ordered if value is not None]
    return bars(name, caption, rows) if rows else None


def row(result: Result, value: float, parts: tuple[float, ...] = (), text: str = "") -> Row:
    """One result's bar."""
    who, noisy = service(result), bool(result.noisy)
    return Row(who, value, text, series=series(who), group=case(result), parts=parts, noisy=noisy)


def columns(caption: str, results: list[Result], names: Sequence[str]) -> Table:
    """A line for each result, a column for each of `names` that any of them has."""
    kept = [name for name in names if any(figure(result.figures, name) is not None for result in results)]
    rows = []
    for result in by_case(results):
        values = [figure(result.figures, name) for name in kept]
        noisy = bool(result.noisy)
        shown = [Cell(ABSENT) if value is None else Cell(number(value), noisy) for value in values]
        rows.append([Cell(f"{case(result)}: {service(result)}"), *shown])
    return Table(caption, ["load", *(measure(name).title for name in kept)], rows)


def missing(results: list[Result]) -> list[Note]:
    """For each case, which of the services nobody has measured."""
    notes = []
    for name, found in cases(results).items():
        for absent in [who for who in SERVICES if who not in map(service, found)]:
            text = f"{name}: {absent} was not measured, so {service(found[0])} stands alone here."
            notes.append(Note(text, command_for(found[0], absent)))
    return notes


def command_for(result: Result, who: str) -> str:
    """The result's command with another service; empty if it has no command."""
    named = f"--service {service(result)}"
    if named in result.command:
        return result.command.replace(named, f"--service {who}")
    return f"{result.command} --service {who}" if result.command else ""
