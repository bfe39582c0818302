"""JSON objects of a request: those of a known struct, and free metadata."""

import math
from itertools import islice
from typing import Any

import msgspec

from memex.model import MAX_METADATA_BYTES
from memex.reading.faults import MOST, Faults, Loc
from memex.reading.fields import BAD, Field, plain

# Deeper than any use, far from the recursion limits of JSON readers.
DEEPEST = 32
# Larger integers are infinite as floats; the fast decoder refuses them too.
WIDEST_INTEGER_BITS = 1024


class Member(msgspec.Struct, frozen=True):
    """One field of a struct."""

    name: str
    field: Field
    required: bool


class Record(msgspec.Struct, frozen=True):
    """An object that becomes `kind`. Names that it does not know are refused, or dropped if `lenient`."""

    kind: type[Any]
    members: tuple[Member, ...]
    lenient: bool = False

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The struct, with required fields that are at fault left blank: its own rules can still be checked."""
        if not isinstance(value, dict):
            faults.add("dict_type", loc, "Input should be a valid dictionary", value)
            return BAD
        read = {m.name: self._member(m, value, loc, faults) for m in self.members if m.name in value or m.required}
        if not self.lenient:
            self._refuse_unknown(value, loc, faults)
        good = {name: part for name, part in read.items() if part is not BAD}
        return self.kind(**{m.name: "" for m in self.members if m.required} | good)

    def _member(self, member: Member, value: dict[str, Any], loc: Loc, faults: Faults) -> Any:
        if member.name in value:
            return member.field.read(value[member.name], (*loc, member.name), faults)
        faults.add("missing", (*loc, member.name), "Field required", value)
        return BAD

    def _refuse_unknown(self, value: dict[str, Any], loc: Loc, faults: Faults) -> None:
        known = {member.name for member in self.members}
        for name in islice((name for name in value if name not in known), MOST):
            faults.add("extra_forbidden", (*loc, name), "Extra inputs are not permitted", value[name])


class Metadata(msgspec.Struct, frozen=True):
    """An object of the caller's own making, of at most 16 KiB as JSON and 32 levels."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The object, unchanged."""
        if not isinstance(value, dict):
            faults.add("dict_type", loc, "Input should be a valid dictionary", value)
            return BAD
        before = len(faults.problems)
        check_leaves(value, loc, faults)
        if len(faults.problems) == before:
            check_size(value, loc, faults)
        return value if len(faults.problems) == before else BAD


def check_size(metadata: dict[str, Any], loc: Loc, faults: Faults) -> None:
    """At most 16 KiB as JSON."""
    if len(msgspec.json.encode(metadata)) > MAX_METADATA_BYTES:
        refuse_size(metadata, loc, faults)


def refuse_size(metadata: dict[str, Any], loc: Loc, faults: Faults) -> None:
    """Too large."""
    faults.refuse(loc, f"metadata should be at most {MAX_METADATA_BYTES} bytes as JSON", metadata)


def check_leaves(metadata: dict[str, Any], loc: Loc, faults: Faults) -> None:
    """Every key and value at any depth can be stored and sent back.

    No recursion, and no more steps than 16 KiB of JSON can have parts: the caller chose depth and width.
    """
    waiting: list[tuple[Loc, Any]] = [(loc, metadata)]
    seen = 0
    while waiting and not faults.full:
        at, value = waiting.pop()
        if isinstance(value, dict | list):
            seen += len(value)
            if seen > MAX_METADATA_BYTES:
                return refuse_size(metadata, loc, faults)
            if len(at) - len(loc) >= DEEPEST:
                return faults.refuse(loc, f"metadata should be at most {DEEPEST} levels deep", metadata)
            waiting.extend(children(value, at, faults))
        elif isinstance(value, str):
            plain(value, at, faults)
        elif is_infinite(value):
            faults.add("finite_number", at, "Input should be a finite number", value)
    return None


def children(value: dict[str, Any] | list[Any], at: Loc, faults: Faults) -> list[tuple[Loc, Any]]:
    """The parts of a container with their places, the first one last; faulty keys are named."""
    if isinstance(value, list):
        parts: list[tuple[Loc, Any]] = [((*at, index), part) for index, part in enumerate(value)]
    else:
        parts = [((*at, key), part) for key, part in value.items() if plain(key, (*at, key), faults)]
    return parts[::-1]


def is_infinite(value: Any) -> bool:
    """Whether a JSON number is NaN, infinite, or too large for a float."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() > WIDEST_INTEGER_BITS
