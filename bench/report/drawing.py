"""Matplotlib's SVG made part of a page: its text stays text, its colours follow the page's theme."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import RcKeyType

from bench.report.blocks import Plot

WIDE, NARROW = 720, 340
POINTS = 72
"""Dots per inch: one point of the drawing is one CSS pixel."""

# Matplotlib gets a colour of its own for each role; on the page the role's CSS variable takes its place.
INK, QUIET, RULE, PAPER = "#010101", "#020202", "#030303", "#040404"
SERIES = ("#0a0101", "#0a0202", "#0a0303", "#0a0404", "#0a0505")
VARIABLES = {INK: "--ink", QUIET: "--quiet", RULE: "--rule", PAPER: "--paper"} | {
    color: f"--series-{number}" for number, color in enumerate(SERIES, 1)
}
STYLE: dict[RcKeyType, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "memex",
    "font.size": 12.0,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.facecolor": "none",
    "axes.labelcolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "hatch.color": PAPER,
    "hatch.linewidth": 1.6,
    "xtick.color": RULE,
    "xtick.labelcolor": QUIET,
    "ytick.color": RULE,
    "ytick.labelcolor": QUIET,
    "axes.axisbelow": True,
}
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
Draw = Callable[[Axes], None]
Margins = tuple[int, int, int, int]
"""Left, right, bottom and top, in points."""


def plot(name: str, caption: str, height: int, draw: Draw, margins: Margins = (4, 4, 4, 4)) -> Plot:
    """`draw` at both widths. `name` is unique on the page: ids of the drawing begin with it."""
    wide, narrow = (svg(f"{name}-{width}", caption, (width, height), draw, margins) for width in (WIDE, NARROW))
    return Plot(caption, wide, narrow)


def svg(name: str, caption: str, size: tuple[int, int], draw: Draw, margins: Margins) -> str:
    """One drawing as an `svg` element. Equal input gives equal bytes."""
    (width, height), (left, right, bottom, top) = size, margins
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width / POINTS, height / POINTS), dpi=POINTS)
        box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
        draw(figure.add_axes(box))
        out = io.StringIO()
        with warnings.catch_warnings():
            # The page's own fonts draw the text; that matplotlib's lacks a glyph is of no consequence.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            figure.savefig(out, format="svg", metadata=NO_METADATA)
    return embedded(out.getvalue(), name, caption)


def embedded(text: str, name: str, caption: str) -> str:
    """The `svg` element alone, with ids of its own, a description, the page's colours and no other's address."""
    text = text[text.index("<svg") :].strip()
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text).replace("xlink:href", "href")
    text = re.sub("|".join(VARIABLES), lambda found: f"var({VARIABLES[found[0]]})", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{attribute(caption)}" ', 1)


def attribute(text: str) -> str:
    """Text for between double quotes."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
