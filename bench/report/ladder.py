"""Open loop: latency over the offered rate, the highest rate that keeps the objective, rung by rung."""

from typing import Any

from bench.report.beside import by_service, columns, missing
from bench.report.blocks import Answer, Block, Cell, Plot, Table, marked
from bench.report.measures import measure
from bench.report.numbers import number
from bench.report.outline import everything, shown
from bench.report.plots import Line, Mark, lines
from bench.report.reading import case, figure, records, service
from bench.results import Result

SLO_MS = 100.0
OFFERED, ACHIEVED, GOODPUT, HIGHEST = (
    "offered_per_second",
    "achieved_per_second",
    "goodput_per_second",
    "highest_per_second",
)
PERCENTILES = ("p50_ms", "p99_ms")
COLUMNS = (OFFERED, ACHIEVED, GOODPUT, *PERCENTILES, "p999_ms", "cpu_ms_both")


def open_loop(results: list[Result]) -> Answer:
    """p99 by case, and the figures as a table."""
    plot = by_service(
        "open-loop-p99", f"Latency from the intended start, {measure('p99_ms').caption}", results, "p99_ms"
    )
    if plot is None:
        raise ValueError("no p99 in the figures")
    table = columns("Rates are 1/s, latencies and CPU a request are milliseconds", results, COLUMNS)
    return Answer(" ".join(map(at_rate, results)), [*missing(results), plot, table, everything(results)])


def at_rate(result: Result) -> str:
    """`memex at 200/s, unique texts …: p50 5.10 ms, p99 21.0 ms.`."""
    offered, *latencies = (figure(result.figures, name) for name in (OFFERED, *PERCENTILES))
    said = [f"{measure(n).title} {number(v)} ms" for n, v in zip(PERCENTILES, latencies, strict=True) if v is not None]
    rate = f" at {number(offered)}/s" if offered is not None else ""
    return marked(f"{service(result)}{rate}, {case(result)}: {', '.join(said) or 'nothing was accepted'}", result) + "."


def ladder(results: list[Result]) -> Answer:
    """The highest rates side by side, then each climb as a plot and a table."""
    highest = by_service("ladder-highest", "Highest rate within the objective, 1/s; higher is better", results, HIGHEST)
    if highest is None:
        raise ValueError("no highest rate in the figures")
    blocks: list[Block] = [highest]
    for at, result in enumerate(results):
        blocks += [drawn] if (drawn := climb(f"ladder-{at}", result)) else []
        blocks.append(rungs(result))
    return Answer(" ".join(map(highest_rate, results)), [*missing(results), *blocks, everything(results)])


def slo(result: Result) -> float:
    """The objective in ms."""
    return figure(result.settings, "slo_ms") or SLO_MS


def steps(result: Result) -> list[dict[str, Any]]:
    """The rungs from the lowest rate to the highest."""
    offered = [(rate, step) for step in records(result.figures) if (rate := figure(step, OFFERED))]
    return [step for _, step in sorted(offered, key=lambda pair: pair[0])]


def climb(name: str, result: Result) -> Plot | None:
    """p50 and p99 over the rate; None without any."""
    drawn = [line for at, share in enumerate(PERCENTILES) if (line := percentile(result, share, at)).points]
    marks = [Mark(f"objective: p99 {number(slo(result))} ms", slo(result))]
    if highest := figure(result.figures, HIGHEST):
        marks.append(Mark(f"{number(highest)}/s", highest, upright=True))
    caption = marked(f"{service(result)}, {case(result)}: latency from the intended start; lower is better", result)
    return lines(name, (caption, "offered, requests a second", "latency, ms"), drawn, marks) if drawn else None


def percentile(result: Result, share: str, at: int) -> Line:
    """One percentile over the rate."""
    pairs = [(figure(step, OFFERED), figure(step, share)) for step in steps(result)]
    return Line(measure(share).title, tuple((x, y) for x, y in pairs if x and y), at)


def rungs(result: Result) -> Table:
    """One line a rung; the rung's own name is its rate."""
    names = [name for name in (*COLUMNS, "held") if any(name in step for step in steps(result))]
    noisy = bool(result.noisy)
    rows = [[Cell(shown(step.get(name)), noisy and at > 0) for at, name in enumerate(names)] for step in steps(result)]
    caption = f"{service(result)}, {case(result)}: rates are 1/s, latencies and CPU a request are milliseconds"
    return Table(caption, [measure(name).title for name in names], rows)


def highest_rate(result: Result) -> str:
    """The highest rate that keeps the objective."""
    highest = figure(result.figures, HIGHEST)
    said = f"{number(highest)}/s" if highest else "no rate"
    found = f"{said} with p99 within {number(slo(result))} ms{unfinished(result)}"
    return marked(f"{service(result)}, {case(result)}: {found}", result) + "."


def unfinished(result: Result) -> str:
    """A remark on a climb that ran out of time."""
    return " (the time was over before it was known to 5 %)" if result.figures.get("finished") is False else ""
