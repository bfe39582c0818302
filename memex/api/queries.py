"""Query strings and path parameters, read by the same rules as bodies."""

from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from memex.errors import Invalid
from memex.reading.faults import Faults, Loc
from memex.reading.fields import Choice, Either, Nullable, Series
from memex.reading.objects import Member
from memex.reading.rules import RULES
from memex.reading.shapes import record

T = TypeVar("T")
QUERY: Loc = ("query",)
MOST_PARAMETERS = 256


class Query(Generic[T]):
    """Reads one route's query string."""

    def __init__(self, struct: type[T], *, lenient: bool = False) -> None:
        """`lenient` drops unknown parameters instead of refusing them."""
        self._record = record(struct, lenient=lenient)
        self._rule = RULES.get(struct)
        self._lists = {m.name: words(m) for m in self._record.members if is_list(m)}

    def read(self, raw: bytes) -> T:
        """The struct. Raises Invalid with every fault."""
        faults = Faults()
        query = self.collect(raw, faults)
        if faults.problems:
            raise Invalid(faults.problems)
        return query

    def collect(self, raw: bytes, faults: Faults) -> T:
        """The struct, good only if no fault was added; for routes that have path parameters too."""
        sound = len(faults.problems)
        read: T = self._record.read(self._parameters(raw, faults), QUERY, faults)
        if self._rule is None or len(faults.problems) > sound:
            return read
        settled: T = self._rule(read, QUERY, faults)
        return settled

    def _parameters(self, raw: bytes, faults: Faults) -> dict[str, Any]:
        """Names to values. A repeated name is refused but for lists: which one counts would be a guess."""
        found: dict[str, Any] = {}
        for name, value in pairs(raw, faults):
            if name in self._lists:
                found.setdefault(name, []).append(value)
                continue
            if name in found:
                faults.refuse((*QUERY, name), "given more than once", value)
            found.setdefault(name, value)
        return {name: self._lists[name].get(tuple(v), v) if name in self._lists else v for name, v in found.items()}


def is_list(member: Member) -> bool:
    """Whether a parameter may be given several times."""
    return isinstance(kind(member), Series | Either)


def words(member: Member) -> dict[tuple[str, ...], str]:
    """The values that, alone, are a word and not a list of one."""
    field = kind(member)
    word = field.word if isinstance(field, Either) else None
    return {(value,): value for value in word.values} if isinstance(word, Choice) else {}


def kind(member: Member) -> Any:
    """The field of a parameter; a query string has no null."""
    return member.field.inner if isinstance(member.field, Nullable) else member.field


def pairs(raw: bytes, faults: Faults) -> list[tuple[str, str]]:
    """Names and values as they were sent."""
    try:
        return parse_qsl(
            raw.decode("utf-8", "surrogateescape"),  # clients also send text that they should have escaped
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError:
        faults.refuse(QUERY, f"at most {MOST_PARAMETERS} parameters", None)
        return []
