"""Conditions on metadata as one SQL/JSON path with variables, which PostgreSQL evaluates without a function of ours.

The path holds only quoted keys and names of variables; what is compared with travels as a value. In PostgreSQL texts
compare by code points there, numbers exactly, and what cannot be compared is unknown, which is not true.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from memex.model import ORDERING, Condition
from memex.store import wire

SIGNS = dict(zip(ORDERING, (">", ">=", "<", "<="), strict=True))
# The kinds of `type()`, which keeps lists apart: a comparison would look into them.
KINDS: dict[type[Any], str] = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def parameters(conditions: Sequence[Condition]) -> tuple[wire.Wire, wire.Wire]:
    """The path that is true where all conditions hold, and its variables, for `jsonb_path_match`; nulls without any."""
    if not conditions:
        return wire.Wire(wire.JSONPATH, None), wire.Wire(wire.JSONB, None)
    terms = [f"({term(condition, f'$v{at}')})" for at, condition in enumerate(conditions)]
    variables = {f"v{at}": condition.operand for at, condition in enumerate(conditions)}
    return wire.jsonpath(" && ".join(terms)), wire.jsonb(msgspec.json.encode(variables))


def term(condition: Condition, variable: str) -> str:
    """One condition."""
    at = f"$.{json.dumps(condition.key, ensure_ascii=False)}"
    if condition.operator == "exists":
        return f"exists({at})" if condition.operand else f"!exists({at})"
    if condition.operator == "in":
        return f'{at}.type() != "array" && {at} == {variable}[*]'
    kind = KINDS[type(condition.operand)]
    if condition.operator == "ne":
        return f'exists({at}) && ({at}.type() != "{kind}" || {at} != {variable})'
    return f'{at}.type() == "{kind}" && {at} {SIGNS.get(condition.operator, "==")} {variable}'
