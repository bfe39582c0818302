"""Closed loop and Locust: throughput, latency and CPU a request, memex beside the reference."""

from bench.report.beside import by_service, columns, missing, row
from bench.report.blocks import Answer, Block, Plot, marked
from bench.report.measures import measure
from bench.report.numbers import number
from bench.report.outline import everything
from bench.report.plots import bars
from bench.report.reading import by_case, cases, figure, service
from bench.results import Result

RATE, CPU, P99 = "requests_per_second", "cpu_ms_both", "p99_ms"
PARTS = ("cpu_ms_service", "cpu_ms_postgres")
COLUMNS = (RATE, "p50_ms", P99, *PARTS, "cache_hit_rate")
"""What the table shows; the other figures are below the fold."""


def load(results: list[Result]) -> Answer:
    """Bars of throughput, of CPU a request and of p99, and the figures as a table."""
    name = results[0].question
    plots = [
        by_service(f"{name}-rate", "Requests a second; higher is better", results, RATE),
        cpu(name, results),
        by_service(f"{name}-p99", f"Latency, {measure(P99).caption}", results, P99),
    ]
    blocks: list[Block] = [plot for plot in plots if plot]
    if not blocks:
        raise ValueError("neither rates nor costs in the figures")
    caption = "1/s, higher is better; p50 to p99 and CPU are milliseconds, lower is better; rates of hits are 0 to 1"
    table = columns(caption, results, COLUMNS)
    return Answer(sentence(results), [*missing(results), *blocks, table, everything(results)])


def sentence(results: list[Result]) -> str:
    """Each case's rates, and what a request costs."""
    return "; ".join(f"{name}: {', '.join(map(said, found))}" for name, found in cases(results).items()) + "."


def said(result: Result) -> str:
    """`memex 2,756/s at 0.50 ms of CPU each`."""
    rate, cost = figure(result.figures, RATE), figure(result.figures, CPU)
    text = f"{service(result)} {number(rate)}/s" if rate is not None else f"{service(result)} without a rate"
    return marked(f"{text} at {number(cost)} ms of CPU each" if cost is not None else text, result)


def cpu(name: str, results: list[Result]) -> Plot | None:
    """CPU a request, the service's share and PostgreSQL's."""
    rows = []
    for result in by_case(results):
        parts = tuple(value for part in PARTS if (value := figure(result.figures, part)) is not None)
        if (both := figure(result.figures, CPU)) is not None:
            rows.append(row(result, both, parts, f"{number(both)} ms"))
    caption = "CPU milliseconds a request, full colour the service, pale PostgreSQL; lower is better"
    return bars(f"{name}-cpu", caption, rows) if rows else None
