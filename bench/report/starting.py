"""How soon a service is ready, and what it holds at rest."""

from bench.report.blocks import Answer, marked
from bench.report.numbers import number
from bench.report.outline import outlined
from bench.report.reading import figure
from bench.results import Result

READY, IDLE = "start_median_s", "idle_cpu_percent_of_a_core"
HELD = {"memex": "memex", "postgres": "PostgreSQL"}


def startup(results: list[Result]) -> Answer:
    """Every figure, under a sentence."""
    return Answer(" ".join(marked(said(result), result) + "." for result in results), outlined(results))


def said(result: Result) -> str:
    """`ready in 1.33 s (median), 291 MiB memex + 33 MiB PostgreSQL, 0.03 % of a core at rest`."""
    figures = result.figures
    memory = {title: figure(figures, "rss_mib", name) for name, title in HELD.items()}
    ready = figure(figures, READY)
    start = f"ready in {number(ready)} s (median)" if ready is not None else ""
    held = " + ".join(f"{number(value)} MiB {title}" for title, value in memory.items() if value is not None)
    idle = figure(figures, IDLE)
    rest = f"{number(idle)} % of a core at rest" if idle is not None else ""
    return ", ".join(part for part in (start, held, rest) if part) or f"{result.variant}: figures below"
