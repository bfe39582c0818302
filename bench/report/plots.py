"""The three kinds of plot: bars, dots with intervals, lines. Every value is written beside its mark."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.report.blocks import MARK, Plot
from bench.report.drawing import INK, PAPER, QUIET, RULE, SERIES, plot
from bench.report.numbers import duration, number

ROW, HEAD, AXIS = 38, 26, 24
"""Heights in points: of a row with its label above its mark, of a group's heading, of the axis."""
VALUE_ROOM = 92
"""Points to the right of the axes for the values of the longest bars."""
STEPS = (1, 2, 5)


class Row(msgspec.Struct, frozen=True):
    """One bar or one dot."""

    label: str
    value: float
    text: str = ""
    """The value as written; empty for its plain number."""
    series: int = 0
    group: str = ""
    parts: tuple[float, ...] = ()
    """Of a bar that is stacked: its pieces, which sum to the value."""
    low: float | None = None
    high: float | None = None
    points: tuple[float, ...] = ()
    """The single measurements behind a dot."""
    noisy: bool = False

    @property
    def written(self) -> str:
        """The value with its noise mark."""
        return (self.text or number(self.value)) + (MARK if self.noisy else "")


class Line(msgspec.Struct, frozen=True):
    """One line through (x, y) points."""

    label: str
    points: tuple[tuple[float, float], ...]
    series: int = 0


class Mark(msgspec.Struct, frozen=True):
    """A straight line across a plot, labelled."""

    label: str
    at: float
    upright: bool = False


def bars(name: str, caption: str, rows: Sequence[Row], *, times: bool = False) -> Plot:
    """Horizontal bars from 0; of `times` (seconds, above 0) on a logarithmic axis from a decade below the least."""
    places = placed(rows)
    start = 10 ** math.floor(math.log10(min(row.value for row in rows)) - 0.3) if times else 0.0

    def draw(axes: Axes) -> None:
        frame(axes, rows, places)
        for row, y in zip(rows, places, strict=True):
            draw_bar(axes, row, y, start)
        scale(axes, start, max(row.value for row in rows), log=times)
        if times:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))

    return plot(name, caption, height(places), draw, (4, VALUE_ROOM, AXIS, 4))


def draw_bar(axes: Axes, row: Row, y: float, start: float) -> None:
    """One bar, in pieces if it has parts, hatched if it is noisy."""
    begin = start
    for number_, part in enumerate(row.parts or (row.value - start,)):
        color, faint = SERIES[row.series % len(SERIES)], 1 - 0.5 * min(number_, 1)
        hatch = "////" if row.noisy else None
        axes.barh(y, part, 13, left=begin, color=color, alpha=faint, hatch=hatch, edgecolor=PAPER, linewidth=0)
        begin += part
    write(axes, row, y, max(row.value, start))


def intervals(name: str, caption: str, rows: Sequence[Row], *, mark: float | None = None, log: bool = False) -> Plot:
    """A dot with its interval for each row, small dots for the single measurements; `mark` is what to compare with."""
    places = placed(rows)
    known = [x for row in rows for x in (row.value, row.low, row.high, *row.points) if x is not None]
    known += [] if mark is None else [mark]

    def draw(axes: Axes) -> None:
        frame(axes, rows, places)
        if mark is not None:
            axes.axvline(mark, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
        for row, y in zip(rows, places, strict=True):
            draw_dot(axes, row, y)
        room = 0.04 * (max(known) - min(known)) or 0.05 * abs(max(known)) or 1.0
        ends = (min(known) / 1.1, max(known) * 1.1) if log else (min(known) - room, max(known) + room)
        scale(axes, *ends, log=log)

    return plot(name, caption, height(places), draw, (8, 8, AXIS, 4))


def draw_dot(axes: Axes, row: Row, y: float) -> None:
    """One dot, hollow if it is noisy."""
    color = SERIES[row.series % len(SERIES)]
    axes.scatter(row.points, [y - 8] * len(row.points), s=14, color=color, alpha=0.45, linewidths=0)
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [y, y], color=color, linewidth=2.2, solid_capstyle="round")
    axes.scatter(
        [row.value], [y], s=52, facecolor=PAPER if row.noisy else color, edgecolor=color, linewidths=1.8, zorder=3
    )
    write(axes, row, y, None)


def lines(name: str, captions: tuple[str, str, str], drawn: Sequence[Line], marks: Sequence[Mark] = ()) -> Plot:
    """Lines on two logarithmic axes; `captions` are of the plot, of x and of y. Every x and y is above 0."""
    caption, x_label, y_label = captions
    xs = [x for line in drawn for x, _ in line.points] + [mark.at for mark in marks if mark.upright]
    ys = [y for line in drawn for _, y in line.points] + [mark.at for mark in marks if not mark.upright]

    def draw(axes: Axes) -> None:
        axes.set(xscale="log", yscale="log")
        axes.grid(visible=True)
        for mark in marks:
            draw_mark(axes, mark)
        for line in drawn:
            draw_line(axes, line)
        axes.set_xlim(*ticked(axes.xaxis, min(xs), max(xs)))
        axes.set_ylim(*ticked(axes.yaxis, min(ys), max(ys)))
        axes.set_xlabel(x_label)
        axes.set_title(y_label, loc="left", fontsize=12, color=QUIET, x=-0.02)

    return plot(name, caption, 300, draw, (52, 78, 46, 28))


def draw_line(axes: Axes, line: Line) -> None:
    """One line with its name at its last point."""
    color = SERIES[line.series % len(SERIES)]
    axes.plot(*zip(*line.points, strict=True), color=color, linewidth=1.8, marker="o", markersize=4.5)
    axes.annotate(
        line.label, line.points[-1], (8, 0), textcoords="offset points", color=color, va="center", annotation_clip=False
    )


def draw_mark(axes: Axes, mark: Mark) -> None:
    """A dashed line with its name: left of an upright one at its top, under a level one at its left."""
    line, across = (
        (axes.axvline, axes.get_xaxis_transform()) if mark.upright else (axes.axhline, axes.get_yaxis_transform())
    )
    line(mark.at, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    place, shift, side = ((mark.at, 1.0), -4, "right") if mark.upright else ((0.0, mark.at), 4, "left")
    look: dict[str, Any] = {"color": QUIET, "fontsize": 11, "ha": side, "va": "top"}
    axes.annotate(mark.label, place, (shift, -4), xycoords=across, textcoords="offset points", **look)


def placed(rows: Sequence[Row]) -> list[float]:
    """The y of each row's mark, in points from the top, downwards negative; a new group takes room for its heading."""
    places, y, group = [], 0.0, ""
    for row in rows:
        y -= ROW + (HEAD if row.group != group else 0)
        group = row.group
        places.append(y + 10)
    return places


def height(places: Sequence[float]) -> int:
    """Of the whole drawing, in points."""
    return int(10 - places[-1] + AXIS + 8)


def frame(axes: Axes, rows: Sequence[Row], places: Sequence[float]) -> None:
    """No y axis: labels above the marks, which no length can push off the page; headings above groups."""
    axes.set_ylim(places[-1] - 10, 0)
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    group = ""
    for row, y in zip(rows, places, strict=True):
        label(axes, row.label, y + 17, INK)
        if row.group != group:
            label(axes, row.group, y + 17 + HEAD - 6, QUIET, weight="bold")
        group = row.group


def label(axes: Axes, text: str, y: float, color: str, weight: str = "normal") -> None:
    """Text at the left edge, on the page's ground so that grid lines do not cross it."""
    axes.annotate(text, (0, y), xycoords=("axes fraction", "data"), va="center", color=color, weight=weight)


def write(axes: Axes, row: Row, y: float, end: float | None) -> None:
    """The value: behind the end of a bar, or at the right of the row's label."""
    place, coords = ((1.0, y + 17), ("axes fraction", "data")) if end is None else ((end, y), ("data", "data"))
    shift, side = ((0, 0), "right") if end is None else ((8, 0), "left")
    axes.annotate(
        row.written,
        place,
        shift,
        xycoords=coords,
        textcoords="offset points",
        va="center",
        ha=side,
        annotation_clip=False,
    )


def scale(axes: Axes, low: float, high: float, *, log: bool) -> None:
    """The x axis from `low` to `high`."""
    if log:
        axes.set_xscale("log")
        low, high = ticked(axes.xaxis, low, high)
    axes.set_xlim(low, high if high > low else low + 1)
    if not log:
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(length=0)
    axes.spines["bottom"].set_color(RULE)


def ticked(axis: Axis, low: float, high: float) -> tuple[float, float]:
    """Ticks at 1, 2, 5 … of a logarithmic axis or, if there are many, at decades; limits a bit wider than the data."""
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    steps = STEPS if math.log10(high / low) < 2.2 else STEPS[:1]
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    return low / 1.08, high * 1.08
