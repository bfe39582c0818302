"""More than the service can do: what is still answered in time, how soon the rest is refused, and what comes after."""

from bench.report.beside import columns, missing
from bench.report.blocks import Answer, marked
from bench.report.measures import measure
from bench.report.numbers import number
from bench.report.outline import everything
from bench.report.plots import Row, bars
from bench.report.reading import OTHERS, by_case, case, figure, series, service
from bench.results import Result

CAPACITY, OFFERED, GOODPUT = "capacity_per_second", "offered_per_second", "goodput_per_second"
RECOVERED = "recovered_after_s"
RATES = (CAPACITY, OFFERED, GOODPUT)
COLUMNS = (*RATES, "goodput_of_capacity", "p50_ms", "p99_ms", RECOVERED, "memory_growth_mib")
SAID = {
    "{}/s offered": OFFERED,
    "{}/s answered in time": GOODPUT,
    "p99 of the accepted {} ms": "p99_ms",
    "refused in {} ms (p50)": "time_to_refuse/p50_ms",
}
"""What the summary tells, and where it stands."""


def overload(results: list[Result]) -> Answer:
    """Capacity, offered rate and goodput as bars, then all figures."""
    rows = [row for result in by_case(results) for row in pressure(result)]
    if not rows:
        raise ValueError("no rates in the figures")
    caption = (
        "Requests a second: the capacity, what came, and what was answered within the objective (higher is better)"
    )
    table = columns(
        "Rates are 1/s, p50 and p99 of accepted requests are milliseconds, recovery is seconds", results, COLUMNS
    )
    plot = bars("overload-goodput", caption, rows)
    return Answer(" ".join(map(survived, results)), [*missing(results), plot, table, everything(results)])


def pressure(result: Result) -> list[Row]:
    """A bar for each rate; the goodput has the service's colour."""
    who, noisy = service(result), bool(result.noisy)
    group = f"{who}, {case(result)}"
    return [
        Row(measure(name).title, rate, series=series(who) if name == GOODPUT else OTHERS, group=group, noisy=noisy)
        for name in RATES
        if (rate := figure(result.figures, name)) is not None
    ]


def survived(result: Result) -> str:
    """How much came through, how late, how soon the rest was refused, and whether it recovered."""
    found = {name: figure(result.figures, *path.split("/")) for name, path in SAID.items()}
    said = [f"{name.format(number(value))}" for name, value in found.items() if value is not None]
    return (
        marked(f"{service(result)}, {case(result)}: {', '.join(said + recovery(result)) or 'figures below'}", result)
        + "."
    )


def recovery(result: Result) -> list[str]:
    """When it was as before, in words; nothing where nobody watched."""
    if RECOVERED not in result.figures:
        return []
    seconds = figure(result.figures, RECOVERED)
    if seconds is None:
        return ["did not recover in the time watched"]
    return ["recovered within the first second" if seconds < 1 else f"recovered after {number(seconds)} s"]
