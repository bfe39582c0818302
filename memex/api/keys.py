"""Keys in headers: what a request that is repeated is known by."""

from typing import Any

from memex.api.etags import Headers, joined
from memex.api.replies import Header
from memex.reading.faults import Faults
from memex.reading.keys import MAX_KEY, Key

KEYED: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_KEY,
        "pattern": "^[!-~]+$",
        "description": (
            "A key of your own for this request, the same whenever it is repeated: it is then done once, and within 24 "
            "hours its answer comes again. Keys are the agent's own, for each route and user (of deletes by "
            "conditions, for the route)."
        ),
    }
}
REPLAYED: dict[str, dict[str, Any]] = {
    "Idempotency-Replayed": {
        "description": "`true` where this is the answer of an earlier request with the same key.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}
"""The header of an answer that may be a repeated one."""

KEY = Key()


def key_of(headers: Headers, faults: Faults) -> str | None:
    """The caller's key, None where there is none; good only if no fault was added."""
    written = joined(headers, b"idempotency-key")
    if written is None:
        return None
    key: str = KEY.read(written, ("header", "idempotency-key"), faults)
    return key


def told(replayed: bool) -> list[Header]:
    """The header of REPLAYED, where it is one."""
    return [(b"idempotency-replayed", b"true")] if replayed else []
