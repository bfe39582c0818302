"""Retrieval quality: each measure with its interval, data set by data set, service by service."""

from collections.abc import Iterator

import msgspec

from bench.pairs import Interval
from bench.report.blocks import Answer, Block, Cell, Fold, Note, Plot, Table, marked
from bench.report.measures import measure
from bench.report.numbers import ABSENT, listed, number, scalar, spread
from bench.report.outline import interval, outlined, walk
from bench.report.plots import Row, intervals
from bench.report.reading import SERVICES, figure, series, service
from bench.results import Result

WHOLE = ("all", "overall", "categories")
"""Parts of a path that name no category."""
DRAWN = ("ndcg@10", "recall@10", "spearman")
LEADING = ("ndcg@10", "spearman")
"""What the summary tells."""
"""Measures with a plot; the others stand in the tables."""
COUNT = "questions"


class Score(msgspec.Struct, frozen=True):
    """One measure of one category."""

    name: str
    category: str
    """Empty for all questions together."""
    interval: Interval


def quality(results: list[Result]) -> Answer:
    """A plot for each leading measure over all variants, a table of all measures, and the categories below a fold."""
    scores = [(result, list(scored(result))) for result in results]
    if not any(found for _, found in scores):
        raise ValueError("no measure in the figures")
    names = list(dict.fromkeys(score.name for _, found in scores for score in found if not score.category))
    plots: list[Block] = [over_variants(name, scores) for name in names if name.lower().startswith(DRAWN)]
    details: list[Block] = [by_category(result, found) for result, found in scores if found]
    details += outlined([others(result) for result in results])
    blocks = [*plots, overall(names, scores), *alone(results), Fold("By category, and all other figures", details)]
    return Answer(" ".join(sentences(scores)), blocks)


def alone(results: list[Result]) -> list[Note]:
    """Which data sets only one of the compared services was measured on."""
    sets: dict[str, set[str]] = {}
    for result in results:
        sets.setdefault(dataset(result), set()).add(service(result))
    absent = {who: [name for name, found in sets.items() if who not in found] for who in SERVICES}
    return [
        Note(
            f"{who} was not measured on {listed(names)}.", f"python -m bench.quality.all --service {who} --data FOLDER"
        )
        for who, names in absent.items()
        if names
    ]


def dataset(result: Result) -> str:
    """Which data set."""
    return str(result.settings.get("data set") or result.variant.split("-")[0])


def way(result: Result) -> str:
    """The service and its mode."""
    return f"{service(result)} {result.settings.get('mode', '')}".strip()


def overall(names: list[str], scores: list[tuple[Result, list[Score]]]) -> Table:
    """One line a variant, one column a measure."""
    rows = []
    for result, found in scores:
        whole = {score.name: score.interval for score in found if not score.category}
        rows.append([Cell(f"{dataset(result)}: {way(result)}"), *(cell(result, whole.get(name)) for name in names)])
    return Table("Means over all questions with an answer [95 %]; higher is better", ["variant", *names], rows)


def scored(result: Result) -> Iterator[Score]:
    """Every figure that has the name of a measure somewhere in its path; a bare number is an interval of no width."""
    for path, value in walk(result.figures):
        name = next(filter(rank, path), None)
        found = interval(value) or bare(value)
        if name and found:
            category = " · ".join(part for part in path if part != name and part.lower() not in WHOLE)
            yield Score(name, category, found)


def bare(value: object) -> Interval | None:
    """A number without an interval."""
    return Interval(value, value, value) if isinstance(value, float) else None


def over_variants(name: str, scores: list[tuple[Result, list[Score]]]) -> Plot:
    """One measure over all questions: a dot for each variant, by data set."""
    rows = [
        row(result, score, way(result), dataset(result))
        for result, found in scores
        for score in found
        if score.name == name and not score.category
    ]
    caption = f"{measure(name).caption}; the line is the 95 % bootstrap interval"
    return intervals(f"{scores[0][0].question}-{name}".replace("@", "-at-"), caption, rows)


def row(result: Result, score: Score, label: str, group: str = "") -> Row:
    """One dot."""
    found = score.interval
    return Row(
        label,
        found.value,
        text=written(found),
        series=series(service(result)),
        group=group,
        low=found.low,
        high=found.high,
        noisy=bool(result.noisy),
    )


def written(found: Interval) -> str:
    """A bare number without its interval."""
    return number(found.value) if found.low == found.high else spread(found)


def by_category(result: Result, scores: list[Score]) -> Table:
    """One line a category, one column a measure, and how many questions it has."""
    names = list(dict.fromkeys(score.name for score in scores))
    found = {(score.category, score.name): score.interval for score in scores}
    rows = []
    for category in dict.fromkeys(score.category for score in scores):
        measured = [cell(result, found.get((category, name))) for name in names]
        rows.append([Cell(category or "all"), Cell(questions(result, category)), *measured])
    caption = f"{result.variant}: means [95 %]; higher is better"
    return Table(caption, ["category", COUNT, *names], rows)


def questions(result: Result, category: str) -> str:
    """How many questions a category has, as text."""
    path = ("categories", category) if category else ("all",)
    return scalar(figure(result.figures, *path, COUNT))


def others(result: Result) -> Result:
    """The same result with no more than the figures that no other table shows."""
    left = {path: value for path, value in walk(result.figures) if path[-1] != COUNT and not any(map(rank, path))}
    return msgspec.structs.replace(result, figures={" · ".join(path): value for path, value in left.items()})


def rank(part: str) -> bool:
    """Whether it is the name of a measure."""
    return measure(part).unit.endswith("to 1")


def cell(result: Result, found: Interval | None) -> Cell:
    """One category's measure."""
    return Cell(ABSENT) if found is None else Cell(written(found), bool(result.noisy))


def sentences(scores: list[tuple[Result, list[Score]]]) -> Iterator[str]:
    """For each data set the leading measure of each service and mode."""
    sets: dict[tuple[str, str], list[str]] = {}
    for result, found in scores:
        for score in found:
            if score.name in LEADING and not score.category:
                said = marked(f"{way(result)} {number(score.interval.value)}", result)
                sets.setdefault((dataset(result), score.name), []).append(said)
    return (f"{name}, {title}: {', '.join(said)}." for (name, title), said in sets.items())
