"""Arguments of a tool, read into the struct that the service takes by the same rules as a REST body."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from memex.errors import Invalid
from memex.reading.faults import Faults, Loc
from memex.reading.fields import BAD, Bounds, Field, Real, Whole
from memex.reading.objects import Member, Record
from memex.reading.rules import RULES
from memex.reading.shapes import record

T = TypeVar("T")
Json = dict[str, Any]

ARGUMENTS: Loc = ("arguments",)


class Clamped(msgspec.Struct, frozen=True):
    """A number that is moved into `least` to `most` where a REST body would be refused: agents guess bounds."""

    inner: Field
    least: float
    most: float

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The number, at most and at least that."""
        number = self.inner.read(value, loc, faults)
        return BAD if number is BAD else max(self.least, min(self.most, number))


def whole(least: int, most: int) -> Clamped:
    """A clamped integer."""
    return Clamped(Whole(Bounds()), least, most)


def real(least: float, most: float) -> Clamped:
    """A clamped float."""
    return Clamped(Real(Bounds()), least, most)


class Arguments(Generic[T]):
    """Reads one tool's arguments."""

    def __init__(
        self,
        struct: type[T],
        names: tuple[str, ...],
        fields: Mapping[str, Field] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Of the struct the tool takes `names`, reads some by `fields`, and fills in `defaults`."""
        known = {member.name: member for member in record(struct).members}
        members = [known[name] for name in names]
        read = [Member(m.name, (fields or {}).get(m.name, m.field), m.required) for m in members]
        self._optional = frozenset(m.name for m in members if not m.required)
        self._strict = Record(struct, tuple(read))
        self._lenient = Record(struct, tuple(read), lenient=True)
        self._rule = RULES.get(struct)
        self._defaults = dict(defaults or {})

    def read(self, given: Json, *, lenient: bool) -> T:
        """The struct; `lenient` drops unknown names. Null is as good as left out. Raises Invalid with every fault."""
        faults = Faults(given)
        draft = self.collect(given, faults, lenient=lenient)
        if faults.problems:
            raise Invalid(faults.problems)
        return draft

    def collect(self, given: Json, faults: Faults, *, lenient: bool) -> T:
        """The same; what is wrong is added to `faults`, and then the struct is of no use."""
        said = {name: value for name, value in given.items() if value is not None or name not in self._optional}
        reader = self._lenient if lenient else self._strict
        draft: T = reader.read(self._defaults | said, ARGUMENTS, faults)
        return self._rule(draft, ARGUMENTS, faults) if self._rule else draft
