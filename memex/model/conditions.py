"""Conditions on the metadata of memories: as callers write them, and one by one."""

from collections.abc import Iterator
from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_CONDITIONS = 32
MAX_CHOICES = 100
MAX_OPERAND = 4_096

Word: TypeAlias = Annotated[str, Meta(max_length=MAX_OPERAND)]
Scalar: TypeAlias = Word | int | float | bool | None
Ordered: TypeAlias = Word | int | float
Choices: TypeAlias = Annotated[list[Scalar], Meta(min_length=1, max_length=MAX_CHOICES)]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions on one key of the metadata; all of them hold.

    Values compare as what they are, numbers as numbers, texts by code points. Those of different kinds are never equal,
    nor is one less than the other. A key that is not there meets `exists: false` alone.
    """

    eq: Scalar | UnsetType = UNSET
    """Is this value."""
    ne: Scalar | UnsetType = UNSET
    """Is there, and is not this value."""
    gt: Ordered | UnsetType = UNSET
    """Is a number above this one, or a text after this one."""
    gte: Ordered | UnsetType = UNSET
    """The same, or equal to it."""
    lt: Ordered | UnsetType = UNSET
    """Is a number below this one, or a text before this one."""
    lte: Ordered | UnsetType = UNSET
    """The same, or equal to it."""
    in_: Choices | UnsetType = msgspec.field(default=UNSET, name="in")
    """Is one of these values."""
    exists: bool | UnsetType = UNSET
    """Whether the key is there, be it with null."""


OPERATORS = Comparison.__struct_encode_fields__
ORDERING = ("gt", "gte", "lt", "lte")
# A value alone asks for that value.
Clause: TypeAlias = Annotated[dict[Word, Comparison | Scalar], Meta(min_length=1, max_length=MAX_CONDITIONS)]
# Of a list each clause holds, so that one key may be asked twice.
Conditions: TypeAlias = Clause | Annotated[list[Clause], Meta(min_length=1, max_length=MAX_CONDITIONS)]


class Condition(msgspec.Struct, frozen=True):
    """One condition on one top-level key."""

    key: str
    operator: str
    """One of OPERATORS."""
    operand: Scalar | list[Scalar]
    """A list for `in` alone."""


def clauses_of(metadata: Conditions) -> list[Clause]:
    """The objects that all hold; one alone is a list of one."""
    return metadata if isinstance(metadata, list) else [metadata]


def conditions_of(metadata: Conditions) -> Iterator[Condition]:
    """The conditions one by one, clause after clause in the order of their keys and operators."""
    for key, comparison in (pair for clause in clauses_of(metadata) for pair in sorted(clause.items())):
        if not isinstance(comparison, Comparison):
            yield Condition(key, "eq", comparison)
            continue
        for operator, operand in zip(OPERATORS, msgspec.structs.astuple(comparison), strict=True):
            if operand is not UNSET:
                yield Condition(key, operator, operand)
