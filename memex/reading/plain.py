"""JSON text as plain values, just as it was sent: even what no field takes, so that the field can be named."""

import json
import math
from collections.abc import Callable
from typing import Any

from memex.reading.faults import Faults, Loc

LONGEST_INTEGER = 400
BODY: Loc = ("body",)


def parsed(raw: bytes, faults: Faults, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Plain JSON, NaN and infinities included, so that their field can be named; `pairs` makes the objects."""
    if not raw:
        faults.add("missing", BODY, "Field required", None)
        return None
    try:
        return json.loads(raw.decode(), parse_int=integer, object_pairs_hook=pairs)
    except UnicodeDecodeError as error:
        faults.add("json_invalid", (*BODY, error.start), "JSON decode error: not UTF-8", {})
    except json.JSONDecodeError as error:
        faults.add("json_invalid", (*BODY, error.pos), f"JSON decode error: {error.msg}", {})
    except RecursionError:
        faults.add("json_invalid", BODY, "JSON decode error: nested too deeply", {})
    return None


def integer(digits: str) -> int | float:
    """Python converts long digits slowly and refuses very long ones; here they are out of every range anyway."""
    if len(digits) > LONGEST_INTEGER:
        return -math.inf if digits.startswith("-") else math.inf
    return int(digits)
