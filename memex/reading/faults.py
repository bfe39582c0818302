"""What can be wrong with one value of a request, as problems in the words of pydantic, which clients already parse."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

from memex.errors import Problem

MOST = 100
"""Problems of one answer. More would make a small bad request into a large answer."""
LONGEST = 200
"""Code points of a value that is shown back."""
WIDEST = 20
"""Items of a list or an object that are shown back."""
DEEPEST = 4

Loc = tuple[str | int, ...]


class Faults:
    """The problems found so far. Full at MOST: later ones are not kept."""

    def __init__(self, sent: Any = None) -> None:
        """`sent` is the whole body as plain JSON, for `breach`."""
        self.problems: list[Problem] = []
        self._sent = sent

    @property
    def full(self) -> bool:
        """Whether looking further is of no use."""
        return len(self.problems) >= MOST

    def add(self, kind: str, loc: Loc, message: str, value: Any) -> None:
        """One more: `kind` is pydantic's name, `value` is what was sent."""
        if not self.full:
            self.problems.append(Problem(kind, tuple(map(step, loc)), message, shown(value)))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Those that were found elsewhere."""
        self.problems += islice(problems, MOST - len(self.problems))

    def refuse(self, loc: Loc, message: str, value: Any) -> None:
        """One that only memex knows of."""
        self.add("value_error", loc, f"Value error, {message}", value)

    def breach(self, loc: Loc, message: str) -> None:
        """One of a rule, which sees a struct: what was sent for it, in the caller's own form, is looked up."""
        value = self._sent
        for name in loc[1:]:
            value = value.get(name) if isinstance(value, dict) else None
        self.refuse(loc, message, value)


def step(part: str | int) -> str | int:
    """One step of a location, safe to encode."""
    return part if isinstance(part, int) else text(part)


def shown(value: Any, depth: int = DEEPEST) -> Any:
    """`value` as it goes into the answer: always valid JSON, never long."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {text(k): shown(v, depth - 1) for k, v in list(value.items())[:WIDEST]} if depth else "{…}"
    if isinstance(value, list):
        return [shown(v, depth - 1) for v in value[:WIDEST]] if depth else "[…]"
    return number(value)


def text(value: str) -> str:
    """Shortened, with unpaired surrogates written as escapes."""
    cut = value if len(value) <= LONGEST else value[:LONGEST] + "…"
    return cut.encode("utf-8", "backslashreplace").decode()


def number(value: float | bool | None) -> Any:
    """NaN and infinities as their names, integers past 64 bits as text: other JSON readers choke on them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and value.bit_length() > 63:
        return text(str(value))
    return value
