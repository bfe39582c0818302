"""The Markdown is what it looks like: its tables are tables."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bench.report.markdown import code, text
from tests.bench.report.documents import example, rendered
from tests.bench.report.examples import EXAMPLES, result

PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


def rows(tokens: list[Token]) -> list[int]:
    """Cells of each row of each table."""
    counts: list[int] = []
    for token in tokens:
        if token.type == "tr_open":
            counts.append(0)
        elif token.type in ("th_open", "td_open"):
            counts[-1] += 1
    return counts


@pytest.mark.parametrize("question", EXAMPLES)
def test_every_table_is_one(question: str):
    _, document = example(question, disturbed=True)
    lines = [line for line in document.splitlines() if line.startswith("|")]
    separators = [line for line in lines if set(line) <= set("|-: ")]
    tokens = PARSER.parse(document)
    assert len(separators) == sum(token.type == "table_open" for token in tokens) > 3
    written = [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines if line not in separators]
    assert rows(tokens) == written


@given(st.text(min_size=1).filter(str.strip))
def test_no_text_is_markup(value: str):
    (paragraph,) = PARSER.parseInline(f"x {text(value)} x")
    kinds = {child.type for child in paragraph.children or []}
    assert kinds <= {"text", "text_special", "entity"}


@given(st.text(alphabet="ab|`\\ ", min_size=1).filter(str.strip))
def test_a_command_is_shown_letter_for_letter_in_a_table(value: str):
    tokens = PARSER.parse(f"| a |\n| --- |\n| {code(value)} |\n")
    (span,) = [child for token in tokens for child in token.children or [] if child.type == "code_inline"]
    assert span.content.split() == value.split()


def test_a_hostile_variant_breaks_no_table():
    _, document = rendered(result("startup", "a|b\n|`c`|<b>", {"x|y": "1|2"}))
    tokens = PARSER.parse(document)
    assert not any(token.type.startswith("html") for token in PARSER.parse(document.replace("details>", "")))
    assert "a|b |`c`|<b>" in [token.content.replace("\\", "") for token in tokens if token.type == "inline"]
