"""From a struct's annotations to the fields that read it: the structs of the model are the only list of rules."""

from collections.abc import Callable
from typing import Any

from msgspec import inspect as kinds

from memex.reading.conditions import Clauses
from memex.reading.fields import (
    Bounds,
    Choice,
    Either,
    Field,
    Flag,
    Identity,
    Moment,
    Nullable,
    Number,
    Real,
    Series,
    Text,
    Whole,
)
from memex.reading.objects import Member, Metadata, Record


def record(struct: type[Any], *, lenient: bool = False) -> Record:
    """How a struct is read; `lenient` drops unknown names at every level."""
    described = kinds.type_info(struct)
    if not isinstance(described, kinds.StructType):
        raise TypeError(f"{struct} is not a struct")
    return of_struct(described, lenient)


def of_struct(described: kinds.StructType, lenient: bool) -> Record:
    """The struct and those inside of it."""
    members = tuple(Member(f.encode_name, field(f.type, lenient), f.required) for f in described.fields)
    return Record(described.cls, members, lenient)


def field(described: Any, lenient: bool) -> Field:
    """The field of one annotation. Raises KeyError for a kind that no request uses yet."""
    if isinstance(described, kinds.Metadata):
        return field(described.type, lenient)
    if isinstance(described, kinds.UnionType):
        return Nullable(one_of([t for t in described.types if not isinstance(t, kinds.NoneType)], lenient))
    if isinstance(described, kinds.ListType):
        number = isinstance(described.item_type, kinds.FloatType)
        item = Number() if number else field(described.item_type, lenient)
        return Series(item, described.min_length or 0, described.max_length)
    if isinstance(described, kinds.StructType):
        return of_struct(described, lenient)
    return LEAVES[type(described)](described)


def one_of(choices: list[kinds.Type], lenient: bool) -> Field:
    """The one kind beside null, or a word and a list; objects and lists of them are conditions."""
    if len(choices) == 1:
        return field(choices[0], lenient)
    if any(isinstance(kind, kinds.DictType) for kind in choices):
        return Clauses()
    words, series = sorted(choices, key=lambda kind: isinstance(kind, kinds.ListType))
    return Either(field(words, lenient), field(series, lenient))


def bounds(described: Any) -> Bounds:
    """The range of a number."""
    return Bounds(described.gt, described.ge, described.le)


LEAVES: dict[type[Any], Callable[[Any], Field]] = {
    kinds.StrType: lambda d: Text(d.min_length or 0, d.max_length),
    kinds.IntType: lambda d: Whole(bounds(d)),
    kinds.FloatType: lambda d: Real(bounds(d)),
    kinds.BoolType: lambda _: Flag(),
    kinds.EnumType: lambda d: Choice({member.value: member for member in d.cls}),
    kinds.LiteralType: lambda d: Choice({word: word for word in d.values}),
    kinds.DateTimeType: lambda _: Moment(),
    kinds.UUIDType: lambda _: Identity(),
    kinds.DictType: lambda _: Metadata(),
}
