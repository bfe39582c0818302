"""The page as Markdown, for readers without a browser: the same tables, no plots."""

import re
from collections.abc import Iterator

from bench.report.blocks import MARK, Block, Cell, Fold, Note, Plot, Section, Table
from bench.report.page import Page

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def markdown(page: Page) -> str:
    """The whole document."""
    return "\n".join([*head(page), *answers(page), *details(page), *glossary(page)])


def head(page: Page) -> Iterator[str]:
    """Title, what was read, and what was not."""
    yield f"# {text(page.title)}\n"
    noisy = f"{page.noisy} of them noisy: their figures carry{MARK}" if page.noisy else "None of them noisy"
    yield f"{page.count} results, taken {text(page.taken)}. {noisy}.\n"
    for file in page.skipped:
        yield f"> {text(file.name)} is not a result and was left out: {text(file.reason)}\n"


def answers(page: Page) -> Iterator[str]:
    """The summary."""
    yield "## Answers\n"
    for section in page.sections:
        yield f"- **{text(section.title)}**{MARK if section.noisy else ''} {text(section.answer.sentence)}"
    for question in page.unanswered:
        yield f"- **{text(question.title)}** Not measured yet: {code(question.command)}"
    yield ""


def details(page: Page) -> Iterator[str]:
    """A chapter for each question, and the machines."""
    for section in page.sections:
        yield from chapter(section)
    yield "## Measured on\n"
    yield from table(page.machines)


def chapter(section: Section) -> Iterator[str]:
    """One question."""
    yield f"## {text(section.title)}{MARK if section.noisy else ''}\n"
    yield f"{text(section.method)}\n"
    for block in section.answer.blocks:
        yield from shown(block)
    yield from folded("How this was measured: date, command, noise, ceilings, settings", section.provenance)


def folded(title: str, blocks: list[Block]) -> Iterator[str]:
    """What is closed until somebody opens it, where HTML in Markdown is understood."""
    yield f"<details><summary>{title}</summary>\n"
    for block in blocks:
        yield from shown(block)
    yield "</details>\n"


def shown(block: Block) -> Iterator[str]:
    """A table or a note; a plot's figures all stand in tables too."""
    match block:
        case Table():
            yield from table(block)
        case Note():
            yield f"> {text(block.text)}{f' Measure it: {code(block.command)}' if block.command else ''}\n"
        case Fold():
            yield from folded(block.title, block.blocks)
        case Plot():
            return


def table(block: Table) -> Iterator[str]:
    """A table under its caption."""
    yield f"{text(block.caption)}:\n"
    yield line([text(name) for name in block.head])
    yield line(["---:" if at in block.numeric else "---" for at in range(len(block.head))])
    for row in block.lines:
        yield line([cell(item) for item in row])
    yield ""


def line(cells: list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def cell(item: Cell) -> str:
    """One cell with its noise mark."""
    return (code(item.text) if item.code else text(item.text)) + (MARK if item.noisy else "")


def text(value: str) -> str:
    """Text that stays text: nothing in it is markup, and it stays on its line."""
    return SPECIAL.sub(r"\\\1", " ".join(value.split()))


def code(value: str) -> str:
    """A code span, with more backticks around it than are in it; a bar is escaped since it would end a cell."""
    inner = " ".join(value.split()).replace("|", r"\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", inner)), default=0) + 1)
    pad = " " if "`" in inner else ""
    return f"{fence}{pad}{inner}{pad}{fence}"


def glossary(page: Page) -> Iterator[str]:
    """The words."""
    yield "## Glossary\n"
    for term in page.terms:
        yield f"- **{text(term.name)}**: {text(term.meaning)}"
    yield ""
