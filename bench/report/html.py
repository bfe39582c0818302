"""The page as one HTML file that loads nothing."""

import functools
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from bench.report.blocks import MARK
from bench.report.page import Page

TEMPLATES = Path(__file__).parent / "templates"


def html(page: Page) -> str:
    """The whole document. Whatever results contain is escaped; only our own drawings are taken as they are."""
    style = Markup((TEMPLATES / "style.css").read_text("utf-8"))  # noqa: S704
    return environment().get_template("report.html").render(page=page, style=style, mark=MARK.strip())


@functools.cache
def environment() -> Environment:
    """The templates, compiled once."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The texts in a drawing are escaped by matplotlib, the style is a file of ours.
    found.filters["svg"] = Markup
    found.filters["parts"] = parts
    return found


def parts(sentence: str) -> list[str]:
    """A summary's sentences and half-sentences, a line each."""
    return re.split(r"(?<=[;.]) (?=\S)", sentence)
