"""Micro-benchmarks: what memex uses beside other ways to do the same."""

import re
from collections.abc import Iterator

import msgspec

from bench.report.blocks import Answer, marked
from bench.report.numbers import duration, listed, number
from bench.report.outline import everything
from bench.report.plots import Row, bars
from bench.report.reading import figure, records
from bench.results import Result

OTHER_WAYS = ("rival", "by json", "by numpy", "regular expression")
"""What the name of a benchmark of another way holds."""
TASKS = (
    (r"NewMemory, read", "decode a memory to store"),
    (r"SearchQuery, read", "decode a search"),
    (r"Memory, written", "encode a memory"),
    (r"SearchResult, written", "encode a search's answer"),
    (r"(\d+) rows", r"rank \1 memories"),
    (r"terms of a query text", "split a query into search terms"),
    (r"terms of a (.+) text", r"split a \1 text into search terms"),
    (r"tokens of a (.+) text", r"tokenise a \1 text"),
    (r"tokens of (.+)", r"tokenise \1"),
    (r"vector of (\d+) to half precision", r"round a vector of \1 to half precision"),
    (r"vector to PostgreSQL", "encode a vector for PostgreSQL"),
    (r"(.+) term ids to PostgreSQL", r"encode \1 term ids for PostgreSQL"),
    (r"memory to PostgreSQL", "encode a memory for PostgreSQL"),
    (r"(.+) vectors from PostgreSQL", r"decode \1 vectors from PostgreSQL"),
    (r"batcher", "pass texts through the embedding queue"),
    (r"cache", "use the embedding cache"),
)
"""The groups of `bench.micro` in words."""
LIKE = "semantic"
"""The ranking's other ways rank by meaning alone."""
NANOSECOND = 1e-9


class Median(msgspec.Struct, frozen=True):
    """One benchmark of a group, in seconds."""

    group: str
    name: str
    seconds: float

    @property
    def other(self) -> bool:
        """Whether it is not memex's own way."""
        return any(words in self.name for words in OTHER_WAYS)


def micro(results: list[Result]) -> Answer:
    """Logarithmic bars, group by group, and all figures."""
    rows = [bar(result, found) for result in results for group in groups(result).values() for found in group]
    if not rows:
        raise ValueError("no medians in the figures")
    caption = "Median time of one call, blue what memex uses, orange another way; logarithmic axis; lower is better"
    plot = bars(f"{results[0].question}-medians", caption, rows, times=True)
    return Answer(" ".join(map(ahead, results)), [plot, everything(results)])


def bar(result: Result, found: Median) -> Row:
    """One median."""
    written, noisy = duration(found.seconds), bool(result.noisy)
    return Row(found.name, found.seconds, written, series=int(found.other), group=found.group, noisy=noisy)


def groups(result: Result) -> dict[str, list[Median]]:
    """Medians by group, in the order in which the groups appear."""
    found: dict[str, list[Median]] = {}
    for median in medians(result):
        found.setdefault(median.group, []).append(median)
    return found


def medians(result: Result) -> Iterator[Median]:
    """Every median above 0."""
    for item in records(result.figures):
        if value := figure(item, "median_ns"):
            yield Median(
                task(str(item.get("group") or result.variant)), readable(str(item.get("name"))), value * NANOSECOND
            )


def task(group: str) -> str:
    """What the benchmarks of a group do, for readers who do not know the code; an unknown group as it is."""
    for pattern, words in TASKS:
        if found := re.fullmatch(pattern, group):
            return found.expand(words)
    return group


def readable(name: str) -> str:
    """`test_native[hybrid-1000]` → `native: hybrid-1000`."""
    return name.removeprefix("test_").replace("_", " ").replace("[", ": ").removesuffix("]")


def ahead(result: Result) -> str:
    """How often memex's way is the fastest of its group, and where it is not."""
    factors = {name: factor for name, group in groups(result).items() if (factor := faster(group))}
    won = sorted(factor for factor in factors.values() if factor >= 1)
    lost = [
        f"{name} ({number(factor)} × the speed of the fastest other way)"
        for name, factor in factors.items()
        if factor < 1
    ]
    if not factors:
        return f"{result.variant}: medians below."
    best = f", {number(won[0])} to {number(won[-1])} × their speed" if won else ""
    behind = f" Slower: {listed(lost)}." if lost else ""
    return marked(f"Faster than other ways in {len(won)} of {len(factors)} comparisons{best}", result) + f".{behind}"


def faster(group: list[Median]) -> float | None:
    """Time of the fastest other way / time of memex's own; None where a group lacks either."""
    own, others = ([one for one in group if one.other is side] for side in (False, True))
    if not own or not others:
        return None
    ours = next((one for one in own if LIKE in one.name), own[0])
    return min(one.seconds for one in others) / ours.seconds
