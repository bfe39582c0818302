"""A question that nobody drew a plot for: all its figures as tables."""

from bench.report.blocks import Answer, Note, marked
from bench.report.measures import measure
from bench.report.outline import is_records, outlined, shown, walk
from bench.results import Result

SAID = 3
"""How many figures of each variant the summary tells."""


def plain(results: list[Result]) -> Answer:
    """Every figure of every variant."""
    return Answer(" ".join(map(sentence, results)), outlined(results))


def unexpected(results: list[Result]) -> Answer:
    """The same, where a question's figures are not of the shape that its plots need."""
    answer = plain(results)
    note = Note("These figures are not of the shape that this report draws, so they stand here as they are.")
    return Answer(answer.sentence, [note, *answer.blocks])


def sentence(result: Result) -> str:
    """The first few figures."""
    leaves = [(path, value) for path, value in walk(result.figures) if path and not is_records(value)][:SAID]
    return marked(f"{result.variant}: {', '.join(map(said, leaves)) or 'tables below'}", result) + "."


def said(leaf: tuple[tuple[str, ...], object]) -> str:
    """`start median 1.33 s`."""
    path, value = leaf
    known = measure(path[-1])
    unit = f" {known.unit}" if known.unit and " to " not in known.unit else ""
    return f"{' '.join((*path[:-1], known.title))} {shown(value)}{unit}"
