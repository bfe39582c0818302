"""The whole report, before it is HTML or Markdown."""

import msgspec

from bench.report.blocks import Section, Table
from bench.report.collection import Collection, Skipped
from bench.report.glossary import TERMS, Term
from bench.report.provenance import machines
from bench.report.questions import Question, sections, unanswered


class Page(msgspec.Struct, frozen=True):
    """Everything that is shown, in its order."""

    title: str
    taken: str
    sections: list[Section]
    unanswered: list[Question]
    skipped: list[Skipped]
    machines: Table
    terms: tuple[Term, ...]
    noisy: int
    """How many of the results were disturbed."""
    count: int


def page(collection: Collection) -> Page:
    """The page of a collection that has at least one result."""
    results = [result for found in collection.questions.values() for result in found]
    dates = sorted(result.taken[:10] for result in results if result.taken)
    return Page(
        title="memex measured",
        taken=" to ".join(dict.fromkeys(dates[:1] + dates[-1:])) or "at an unknown date",
        sections=sections(collection.questions),
        unanswered=unanswered(collection.questions),
        skipped=collection.skipped,
        machines=machines(results),
        terms=TERMS,
        noisy=sum(bool(result.noisy) for result in results),
        count=len(results),
    )
