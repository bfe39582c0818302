"""What a page is made of, before it is HTML or Markdown."""

from typing import ClassVar

import msgspec

from bench.results import Result


class Cell(msgspec.Struct, frozen=True):
    """One cell of a table."""

    text: str
    noisy: bool = False
    """Of a run that something disturbed: marked wherever it is shown."""
    code: bool = False
    """To be typed, so shown letter for letter."""


class Table(msgspec.Struct, frozen=True):
    """Rows under a head; the first column names the row. The caption tells units and direction."""

    kind: ClassVar[str] = "table"
    caption: str
    head: list[str]
    rows: list[list[Cell]]


class Plot(msgspec.Struct, frozen=True):
    """A drawing as SVG, once for wide screens and once for phones. The caption tells units and direction."""

    kind: ClassVar[str] = "plot"
    caption: str
    wide: str
    narrow: str


class Note(msgspec.Struct, frozen=True):
    """A sentence between the figures; a `command`, if any, is what to type to change what it says."""

    kind: ClassVar[str] = "note"
    text: str
    command: str = ""


class Fold(msgspec.Struct, frozen=True):
    """Figures for those who want all of them: closed until somebody opens it."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: "list[Block]"


Block = Table | Plot | Note | Fold


class Answer(msgspec.Struct, frozen=True):
    """What a question's results say: a sentence for the summary, and the figures behind it."""

    sentence: str
    blocks: list[Block]


class Section(msgspec.Struct, frozen=True):
    """One question with its answer, and how that was measured."""

    anchor: str
    title: str
    method: str
    answer: Answer
    provenance: list[Block]
    noisy: bool


def cells(*texts: str, noisy: bool = False) -> list[Cell]:
    """A row whose first cell names it and whose figures carry the noise mark."""
    return [Cell(texts[0]), *(Cell(text, noisy) for text in texts[1:])]


def noise_of(results: list[Result]) -> bool:
    """Whether any of them was disturbed."""
    return any(result.noisy for result in results)
