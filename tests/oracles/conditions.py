"""Conditions on metadata, from their description and from nothing else."""

from collections.abc import Iterable
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

from memex.model import Condition

ORDER = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
MISSING = object()


def hold(metadata: dict[str, Any], conditions: Iterable[Condition]) -> bool:
    return all(holds(metadata.get(c.key, MISSING), c.operator, c.operand) for c in conditions)


def holds(value: Any, operator: str, operand: Any) -> bool:
    if operator == "exists":
        return (value is not MISSING) is operand
    if value is MISSING:
        return False
    if operator == "ne":
        return not same(value, operand)
    if operator in ("eq", "in"):
        return any(same(value, one) for one in (operand if operator == "in" else [operand]))
    (kind, left), (other, right) = typed(value), typed(operand)
    return kind == other and kind in ("number", "text") and bool(ORDER[operator](left, right))


def same(value: Any, operand: Any) -> bool:
    return typed(value) == typed(operand)


def typed(value: Any) -> tuple[str, Any]:
    """The kind, and what is compared: numbers as they are written, texts by their bytes."""
    if isinstance(value, bool) or value is None:
        return "word", str(value)
    if isinstance(value, int | float):
        return "number", Decimal(repr(value))
    return ("text", value.encode()) if isinstance(value, str) else ("container", repr(value))
