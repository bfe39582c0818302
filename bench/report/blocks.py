"""What a page is made of, before it is HTML or Markdown."""

import re
from typing import ClassVar

import msgspec

from bench.results import Result

MARK = " ⚠︎"
"""Behind a figure of a disturbed run, and behind the name of a row or column of them."""
NUMERIC = re.compile(r"[−\d.,\s\[\]–]+(ns|µs|ms|s|%)?")


class Cell(msgspec.Struct, frozen=True):
    """One cell of a table."""

    text: str
    noisy: bool = False
    """Of a run that something disturbed: its row is marked."""
    code: bool = False
    """To be typed, so shown letter for letter."""


class Table(msgspec.Struct, frozen=True):
    """Rows under a head; the first column names the row. The caption tells units and direction."""

    kind: ClassVar[str] = "table"
    caption: str
    head: list[str]
    rows: list[list[Cell]]

    @property
    def lines(self) -> list[list[Cell]]:
        """The rows as they are shown: a row with figures of a disturbed run is marked once, at its name."""
        return [
            [msgspec.structs.replace(cell, noisy=at == 0 and any(c.noisy for c in row)) for at, cell in enumerate(row)]
            for row in self.rows
        ]

    @property
    def numeric(self) -> set[int]:
        """The columns with nothing but numbers, perhaps with intervals and units: they are set to the right."""
        columns = list(zip(*self.rows, strict=True))[1:]
        return {at for at, column in enumerate(columns, 1) if all(NUMERIC.fullmatch(cell.text) for cell in column)}


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


def noise_of(results: list[Result]) -> bool:
    """Whether any of them was disturbed."""
    return any(result.noisy for result in results)


def marked(text: str, result: Result) -> str:
    """`text` with the noise mark if the result's run was disturbed."""
    return text + (MARK if result.noisy else "")
