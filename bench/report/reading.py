"""Taking figures out of results whose shapes their questions chose."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bench.pairs import Comparison
from bench.report.numbers import number
from bench.report.outline import interval, is_records, walk
from bench.results import Result

SERVICES = ("memex", "reference")
"""Whoever is compared, in the order of the plots' colours."""
CASE = {
    "texts": "{} texts",
    "rows": "{} rows a tenant",
    "reads": "{} % reads",
    "write_share": "a share of {} writes",
    "classes": "{} users",
    "users": "{} of them",
    "factor": "{} times the capacity",
    "workers": "{} workers",
}
"""Settings that tell loads apart, and how they are said."""
WHOLE = {
    ("rows", "skewed"): "skewed tenants",
    ("rows", "skewed-100000"): "skewed tenants with one of 100,000",
    ("write_share", 1): "writes only",
}
"""Values with words of their own."""
OTHERS = len(SERVICES)
"""The colour of all that is neither."""


def service(result: Result) -> str:
    """Whom it measured: as its settings or else its variant say."""
    named = result.settings.get("service")
    parts = result.variant.split("-")
    return named if isinstance(named, str) else next((who for who in SERVICES if who in parts), SERVICES[0])


def case(result: Result) -> str:
    """What it measured, whoever the service: the settings that tell loads apart, or the rest of the variant."""
    said = [said for name, words in CASE.items() if (said := setting(result, name, words))]
    if "texts" in result.settings:
        return ", ".join(said)
    return result.variant.removeprefix(service(result)).strip("-") or result.variant


def setting(result: Result, name: str, words: str = "") -> str:
    """A setting in words, by default those of CASE; nothing if it is not set."""
    value = result.settings.get(name)
    if isinstance(value, int | float | str) and (name, value) in WHOLE:
        return WHOLE[name, value]
    shown = number(value) if isinstance(value, int | float) else value
    return (words or CASE[name]).format(shown) if value else ""


def series(name: str) -> int:
    """The colour of a service: each known one its own, all others a third."""
    return SERVICES.index(name) if name in SERVICES else OTHERS


def figure(figures: Any, *path: str) -> float | None:
    """The number at `path`, or the middle of the interval there; None if there is neither."""
    value = figures
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    found = interval(value)
    if found is not None:
        return found.value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def records(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The first list of like things in the figures, such as a ladder's rungs; empty if there is none."""
    return next((value for _, value in walk(figures) if is_records(value)), [])


def comparisons(figures: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Comparison]]:
    """Every A/B comparison in the figures, with where it stands."""
    if not isinstance(figures, Mapping):
        return
    try:
        yield " · ".join(path), msgspec.convert(dict(figures), Comparison)
    except msgspec.ValidationError:
        for name, inner in figures.items():
            yield from comparisons(inner, (*path, str(name)))


def cases(results: list[Result]) -> dict[str, list[Result]]:
    """Results by case, those of one case in the order of the services."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: (case(result), series(service(result)), service(result))):
        found.setdefault(case(result), []).append(result)
    return found


def by_case(results: list[Result]) -> list[Result]:
    """All of them, case by case."""
    return [result for found in cases(results).values() for result in found]
