"""Names that an object was sent with more than once. JSON readers keep the last one: of two conditions one is lost."""

import json
from collections import Counter
from typing import Any

from memex.reading.faults import Faults, Loc
from memex.reading.plain import integer

Pairs = list[tuple[str, Any]]


class Repeating(dict[str, Any]):
    """An object with a name that came again."""

    def __init__(self, pairs: Pairs) -> None:
        """As it was sent; the last value of a name is kept."""
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.names = [name for name, times in counts.items() if times > 1]


def once(pairs: Pairs) -> dict[str, Any]:
    """An object as the JSON reader makes it, Repeating where a name came again."""
    sent = dict(pairs)
    return sent if len(sent) == len(pairs) else Repeating(pairs)


def has_repeats(raw: bytes) -> bool:
    """Whether any object of sound JSON text has a name twice."""
    found = False

    def look(pairs: Pairs) -> None:
        nonlocal found
        found = found or len(dict(pairs)) < len(pairs)

    json.loads(raw, parse_int=integer, object_pairs_hook=look)
    return found


def refuse_repeats(body: Any, loc: Loc, faults: Faults) -> None:
    """Names each of them; no recursion, since the caller chose the depth."""
    waiting: list[tuple[Loc, Any]] = [(loc, body)]
    while waiting and not faults.full:
        at, value = waiting.pop()
        if isinstance(value, Repeating):
            for name in value.names:
                faults.refuse((*at, name), "given more than once", value[name])
        if isinstance(value, dict):
            waiting += [((*at, name), part) for name, part in value.items()]
        elif isinstance(value, list):
            waiting += [((*at, index), part) for index, part in enumerate(value)]
