"""Numbers as people read them: three digits that mean something, thousands apart, a unit that fits."""

import math

from bench.pairs import Interval

NEAR_ONE = 0.999
"""From here to 1 (cosines) three digits would hide every difference."""
ABSENT = "–"


def number(value: float) -> str:
    """About three digits, never more than were recorded: 12,345 · 212 · 2.12 · 0.212 · 0.99962; an int as it is."""
    if isinstance(value, int):
        return f"{value:,}"
    return fixed(value, decimals(value)) if math.isfinite(value) else ABSENT


def fixed(value: float, digits: int) -> str:
    """That many digits after the point."""
    return f"{value:,.{digits}f}".replace("-", "−")


def decimals(value: float) -> int:
    """How many digits after the point leave three that mean something; at most six, and no more than there are."""
    size = abs(value)
    if size == 0 or size >= 100:
        return 0
    wanted = 5 if NEAR_ONE < size < 1 else min(6, 2 - math.floor(math.log10(size)))
    recorded = next((digits for digits in range(wanted) if math.isclose(round(value, digits), value)), wanted)
    return max(recorded, 0)


def scalar(value: object) -> str:
    """Anything that stands in a cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    return ABSENT if value is None else str(value)


def spread(interval: Interval) -> str:
    """`0.713 [0.690, 0.735]`, all with the digits of the most exact."""
    values = (interval.value, interval.low, interval.high)
    digits = max(map(decimals, values))
    middle, low, high = (fixed(value, digits) for value in values)
    return f"{middle} [{low}, {high}]"


def duration(seconds: float) -> str:
    """In ns, µs, ms or s, whichever leaves the fewest zeros."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds * 1e9)} ns"


def listed(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
