"""Both documents of some results, and what a browser would make of the HTML."""

import functools
from html.parser import HTMLParser

from bench.report.collection import Collection, Skipped
from bench.report.html import html
from bench.report.markdown import markdown
from bench.report.page import page
from bench.results import Result
from tests.bench.report.examples import DISTURBED, EXAMPLES, QUIET

VOID = {"meta", "br", "hr", "img", "link", "input"}


def collection(*results: Result, skipped: tuple[Skipped, ...] = ()) -> Collection:
    """As it is read from a folder."""
    questions: dict[str, list[Result]] = {}
    for result in results:
        questions.setdefault(result.question, []).append(result)
    return Collection(questions, list(skipped))


def rendered(*results: Result, skipped: tuple[Skipped, ...] = ()) -> tuple[str, str]:
    """HTML and Markdown."""
    found = page(collection(*results, skipped=skipped))
    return html(found), markdown(found)


@functools.cache
def example(question: str, *, disturbed: bool = False) -> tuple[str, str]:
    """HTML and Markdown of a question's example."""
    return rendered(EXAMPLES[question][0](noise=DISTURBED if disturbed else QUIET))


class Document(HTMLParser):
    """Text, elements with their attributes, and whether every element is closed where it should be."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]
