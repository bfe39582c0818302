"""Conditions on metadata, read from plain JSON with every fault named. Nothing is coerced: kinds matter here."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from memex.model import (
    MAX_CHOICES,
    MAX_CONDITIONS,
    MAX_OPERAND,
    OPERATORS,
    ORDERING,
    Comparison,
    Condition,
    Conditions,
    clauses_of,
    conditions_of,
)
from memex.reading.faults import MOST, Faults, Loc
from memex.reading.fields import BAD, Series, characters, is_sized, plain
from memex.reading.objects import is_infinite

EMPTY = Comparison()
TOO_MANY = f"at most {MAX_CONDITIONS} conditions"


class Clauses(msgspec.Struct, frozen=True):
    """One clause, or a list of them."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """As it was sent, with Comparisons, or BAD."""
        read = (SERIES if isinstance(value, list) else CLAUSE).read(value, loc, faults)
        if read is not BAD and sum(1 for _ in conditions_of(read)) > MAX_CONDITIONS:
            faults.refuse(loc, TOO_MANY, value)
            return BAD
        return read


class Clause(msgspec.Struct, frozen=True):
    """Keys with a value each, or with comparisons."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """Keys to values and Comparisons, or BAD."""
        if not isinstance(value, dict):
            faults.add("dict_type", loc, "Input should be a valid dictionary", value)
            return BAD
        if not is_sized(value, 1, MAX_CONDITIONS, loc, faults):
            return BAD
        read = {key: part(key, sent, (*loc, key), faults) for key, sent in value.items()}
        return BAD if any(found is BAD for found in read.values()) else read


CLAUSE = Clause()
SERIES = Series(CLAUSE, 1, MAX_CONDITIONS)


def part(key: str, value: Any, loc: Loc, faults: Faults) -> Any:
    """What one key is asked."""
    named = word(key, loc, faults)
    read = comparison(value, loc, faults) if isinstance(value, dict) else scalar(value, loc, faults)
    return BAD if named is BAD else read


def comparison(value: dict[str, Any], loc: Loc, faults: Faults) -> Any:
    """A Comparison; unknown operators are refused whatever the settings: without them a search would find more."""
    if not value:
        faults.refuse(loc, f"a comparison should have one of {', '.join(OPERATORS)}", value)
        return BAD
    read = {name: operand(name, sent, (*loc, name), faults) for name, sent in islice(value.items(), MOST)}
    if any(found is BAD for found in read.values()):
        return BAD
    return Comparison(**{"in_" if name == "in" else name: found for name, found in read.items()})


def operand(operator: str, value: Any, loc: Loc, faults: Faults) -> Any:
    """The right side of one operator."""
    if operator not in OPERATORS:
        faults.add("extra_forbidden", loc, "Extra inputs are not permitted", value)
        return BAD
    return READERS.get(operator, scalar)(value, loc, faults)


def scalar(value: Any, loc: Loc, faults: Faults) -> Any:
    """A text, a finite number, a truth value or null."""
    if isinstance(value, str):
        return word(value, loc, faults)
    if isinstance(value, dict | list):
        faults.refuse(loc, "metadata is compared with a text, a number, a truth value or null", value)
        return BAD
    if is_infinite(value):
        faults.add("finite_number", loc, "Input should be a finite number", value)
        return BAD
    return value


def ordered(value: Any, loc: Loc, faults: Faults) -> Any:
    """What has an order."""
    if value is None or isinstance(value, bool):
        faults.refuse(loc, "only texts and numbers have an order", value)
        return BAD
    return scalar(value, loc, faults)


def choices(value: Any, loc: Loc, faults: Faults) -> Any:
    """The list of `in`."""
    if not isinstance(value, list):
        faults.add("list_type", loc, "Input should be a valid list", value)
        return BAD
    if not is_sized(value, 1, MAX_CHOICES, loc, faults):
        return BAD
    read = [scalar(item, (*loc, at), faults) for at, item in enumerate(value)]
    return BAD if any(item is BAD for item in read) else read


def truth(value: Any, loc: Loc, faults: Faults) -> Any:
    """True or False, and no word for it."""
    if isinstance(value, bool):
        return value
    faults.add("bool_type", loc, "Input should be a valid boolean", value)
    return BAD


def word(value: str, loc: Loc, faults: Faults) -> Any:
    """A key or a text that metadata can hold; blank is one."""
    if len(value) > MAX_OPERAND:
        faults.add("string_too_long", loc, f"String should have at most {characters(MAX_OPERAND)}", value)
        return BAD
    return value if plain(value, loc, faults) else BAD


READERS: dict[str, Callable[[Any, Loc, Faults], Any]] = {
    "in": choices,
    "exists": truth,
    **dict.fromkeys(ORDERING, ordered),
}


def is_sound(metadata: Conditions) -> bool:
    """Whether the decoder's work needs no second look: what it cannot tell is how many conditions, or how large."""
    found = list(conditions_of(metadata))
    empty = any(value == EMPTY for clause in clauses_of(metadata) for value in clause.values())
    return not empty and len(found) <= MAX_CONDITIONS and all(map(is_finite, found))


def is_finite(condition: Condition) -> bool:
    """Whether every operand is."""
    operands = condition.operand if isinstance(condition.operand, list) else [condition.operand]
    return not any(map(is_infinite, operands))
