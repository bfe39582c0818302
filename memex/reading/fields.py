"""Values of a request, one class per kind: each reads plain JSON leniently and names every fault.

`read` returns the value as the struct holds it, or BAD after adding what is wrong to the faults.
The rules are those of pydantic's lenient mode, which clients of the reference rely on.
"""

import math
import re
from typing import Any, Protocol
from uuid import UUID

import msgspec

from memex.reading.faults import Faults, Loc
from memex.reading.times import moment

WHOLE = re.compile(r"[+-]?\d+(\.0+)?", re.ASCII)
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)
HEX = "[0-9a-fA-F]"
UUID_TEXT = re.compile(rf"(urn:uuid:)?{HEX}{{8}}(-?){HEX}{{4}}\2{HEX}{{4}}\2{HEX}{{4}}\2{HEX}{{12}}", re.ASCII)
TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
FALSE = frozenset({"0", "off", "f", "false", "n", "no"})
LONGEST_NUMBER = 400
BAD: Any = msgspec.UNSET


class Field(Protocol):
    """One kind of value."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The value as the struct holds it, or BAD."""


def plain(value: str, loc: Loc, faults: Faults) -> bool:
    """Whether PostgreSQL and JSON can hold the text: no NUL, no unpaired surrogate."""
    if "\0" in value:
        faults.refuse(loc, "text must not hold a NUL character", value)
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        faults.refuse(
            loc, "text must be UTF-8" if loc[0] == "query" else "text must not hold an unpaired surrogate", value
        )
        return False
    return True


class Text(msgspec.Struct, frozen=True):
    """A string of `least` to `most` code points that is not only white space."""

    least: int
    most: int | None

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The text, unchanged."""
        if not isinstance(value, str):
            faults.add("string_type", loc, "Input should be a valid string", value)
        elif len(value) < self.least:
            faults.add("string_too_short", loc, f"String should have at least {characters(self.least)}", value)
        elif self.most is not None and len(value) > self.most:
            faults.add("string_too_long", loc, f"String should have at most {characters(self.most)}", value)
        elif plain(value, loc, faults):
            if not value.isspace():
                return value
            faults.refuse(loc, "text must not be blank", value)
        return BAD


class Bounds(msgspec.Struct, frozen=True):
    """The range of a number; None is open."""

    gt: float | None = None
    ge: float | None = None
    le: float | None = None

    def check(self, number: float, loc: Loc, faults: Faults, value: Any) -> Any:
        """The number if it is inside."""
        if self.gt is not None and not number > self.gt:
            faults.add("greater_than", loc, f"Input should be greater than {self.gt:.15g}", value)
        elif self.ge is not None and not number >= self.ge:
            faults.add("greater_than_equal", loc, f"Input should be greater than or equal to {self.ge:.15g}", value)
        elif self.le is not None and not number <= self.le:
            faults.add("less_than_equal", loc, f"Input should be less than or equal to {self.le:.15g}", value)
        else:
            return number
        return BAD


class Whole(msgspec.Struct, frozen=True):
    """An integer; takes whole floats, numeric text and truth values too."""

    bounds: Bounds

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """An int inside the bounds."""
        number = self._number(value, loc, faults)
        return BAD if number is BAD else self.bounds.check(number, loc, faults, value)

    def _number(self, value: Any, loc: Loc, faults: Faults) -> Any:
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return self._from_float(value, loc, faults)
        if isinstance(value, str):
            stripped = value.strip()
            if len(stripped) <= LONGEST_NUMBER and WHOLE.fullmatch(stripped):
                return int(stripped.split(".")[0])
            faults.add(
                "int_parsing", loc, "Input should be a valid integer, unable to parse string as an integer", value
            )
            return BAD
        faults.add("int_type", loc, "Input should be a valid integer", value)
        return BAD

    def _from_float(self, value: float, loc: Loc, faults: Faults) -> Any:
        if not math.isfinite(value):
            faults.add("finite_number", loc, "Input should be a finite number", value)
            return BAD
        if value.is_integer():
            return int(value)
        message = "Input should be a valid integer, got a number with a fractional part"
        faults.add("int_from_float", loc, message, value)
        return BAD


class Real(msgspec.Struct, frozen=True):
    """A finite float; takes integers, numeric text and truth values too."""

    bounds: Bounds

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """A float inside the bounds."""
        number = self._number(value, loc, faults)
        if number is BAD:
            return BAD
        if not math.isfinite(number):
            faults.add("finite_number", loc, "Input should be a finite number", value)
            return BAD
        return self.bounds.check(number, loc, faults, value)

    def _number(self, value: Any, loc: Loc, faults: Faults) -> Any:
        if isinstance(value, int | float):
            try:
                return float(value)
            except OverflowError:
                return math.inf
        if not isinstance(value, str):
            faults.add("float_type", loc, "Input should be a valid number", value)
            return BAD
        stripped = value.strip()
        if len(stripped) <= LONGEST_NUMBER and DECIMAL.fullmatch(stripped):
            return float(stripped)
        faults.add("float_parsing", loc, "Input should be a valid number, unable to parse string as a number", value)
        return BAD


class Number(msgspec.Struct, frozen=True):
    """A finite JSON number and nothing else: text is no element of a vector."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """A float."""
        if isinstance(value, bool | str):
            faults.add("float_type", loc, "Input should be a valid number", value)
            return BAD
        return UNBOUND.read(value, loc, faults)


class Flag(msgspec.Struct, frozen=True):
    """A truth value; takes 0, 1 and the usual words too."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """True or False."""
        if not isinstance(value, bool | int | float | str):
            faults.add("bool_type", loc, "Input should be a valid boolean", value)
            return BAD
        if value in (0, 1):
            return bool(value)
        word = value.lower() if isinstance(value, str) else ""
        if word in TRUE or word in FALSE:
            return word in TRUE
        faults.add("bool_parsing", loc, "Input should be a valid boolean, unable to interpret input", value)
        return BAD


UNBOUND = Real(Bounds())


class Choice(msgspec.Struct, frozen=True):
    """One of a few words; `values` maps each to what the struct holds."""

    values: dict[str, Any]

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The member."""
        if isinstance(value, str) and value in self.values:
            return self.values[value]
        *first, last = [f"'{word}'" for word in self.values]
        named = f"{', '.join(first)} or {last}" if first else last
        faults.add("enum", loc, f"Input should be {named}", value)
        return BAD


class Moment(msgspec.Struct, frozen=True):
    """A time: ISO 8601, epoch seconds or milliseconds."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """Aware, in UTC."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            faults.add("datetime_type", loc, "Input should be a valid datetime", value)
            return BAD
        try:
            return moment(value)
        except (ValueError, OverflowError):
            message = "a time is ISO 8601, epoch seconds or epoch milliseconds, in the years 1 to 9999"
            faults.refuse(loc, message, value)
            return BAD


class Identity(msgspec.Struct, frozen=True):
    """A UUID, with or without hyphens."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The UUID."""
        if isinstance(value, str) and UUID_TEXT.fullmatch(value):
            return UUID(value)
        faults.add("uuid_parsing", loc, "Input should be a valid UUID", value)
        return BAD


class Series(msgspec.Struct, frozen=True):
    """A list of `least` to `most` items of one kind."""

    item: Field
    least: int
    most: int | None

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The list of read items, or BAD if one of them is."""
        if not isinstance(value, list):
            faults.add("list_type", loc, "Input should be a valid list", value)
            return BAD
        if not is_sized(value, self.least, self.most, loc, faults):
            return BAD
        items = [self.item.read(item, (*loc, at), faults) for at, item in enumerate(value)]
        return BAD if any(item is BAD for item in items) else items


class Either(msgspec.Struct, frozen=True):
    """A word or a list."""

    word: Field
    series: Field

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """By what was sent: a text is meant as the word."""
        return (self.word if isinstance(value, str) else self.series).read(value, loc, faults)


class Nullable(msgspec.Struct, frozen=True):
    """A kind, or null."""

    inner: Field

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """None for null."""
        return None if value is None else self.inner.read(value, loc, faults)


def is_sized(value: list[Any] | dict[str, Any], least: int, most: int | None, loc: Loc, faults: Faults) -> bool:
    """Whether there are `least` to `most` items."""
    return is_count(len(value), least, most, loc, faults, value)


def is_count(
    size: int, least: int, most: int | None, loc: Loc, faults: Faults, value: list[Any] | dict[str, Any]
) -> bool:
    """The same of `size` items, of which `value` has those that are shown."""
    kind = "List" if isinstance(value, list) else "Dictionary"
    if size < least:
        faults.add("too_short", loc, f"{kind} should have at least {items(least)} after validation, not {size}", value)
    elif most is not None and size > most:
        faults.add("too_long", loc, f"{kind} should have at most {items(most)} after validation, not {size}", value)
    else:
        return True
    return False


def characters(count: int) -> str:
    """`1 character`, `2 characters`."""
    return f"{count} character{'' if count == 1 else 's'}"


def items(count: int) -> str:
    """`1 item`, `2 items`."""
    return f"{count} item{'' if count == 1 else 's'}"
