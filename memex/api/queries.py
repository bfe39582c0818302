"""Query strings and path parameters, read by the same rules as bodies."""

from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from memex.errors import Invalid
from memex.reading.faults import Faults, Loc
from memex.reading.shapes import record

T = TypeVar("T")
QUERY: Loc = ("query",)
MOST_PARAMETERS = 64


class Query(Generic[T]):
    """Reads one route's query string."""

    def __init__(self, struct: type[T], *, lenient: bool = False) -> None:
        """`lenient` drops unknown parameters instead of refusing them."""
        self._record = record(struct, lenient=lenient)

    def read(self, raw: bytes) -> T:
        """The struct. Raises Invalid with every fault."""
        faults = Faults()
        query = self.collect(raw, faults)
        if faults.problems:
            raise Invalid(faults.problems)
        return query

    def collect(self, raw: bytes, faults: Faults) -> T:
        """The struct, good only if no fault was added; for routes that have path parameters too."""
        read: T = self._record.read(parameters(raw, faults), QUERY, faults)
        return read


def parameters(raw: bytes, faults: Faults) -> dict[str, Any]:
    """Names to values. A repeated name is refused: which one counts would be a guess."""
    try:
        pairs = parse_qsl(
            raw.decode("utf-8", "surrogateescape"),  # clients also send text that they should have escaped
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError:
        faults.refuse(QUERY, f"at most {MOST_PARAMETERS} parameters", None)
        return {}
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            faults.refuse((*QUERY, name), "given more than once", value)
        found.setdefault(name, value)
    return found
