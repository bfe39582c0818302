"""The readers of bodies, and what they find wrong."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memex.api.bodies import Reader
from memex.errors import Invalid, Problem
from memex.model import ContextQuery, MemoryChange, NewMemory, SearchQuery
from tests.unit.api.table import CHANGE, CHANGE_TABLE, CONTEXT_TABLE, MEMORY, MEMORY_TABLE, SEARCH, SEARCH_TABLE
from tests.unit.api.values import ENDLESS, Row

STRUCTS = {"memory": NewMemory, "search": SearchQuery, "change": MemoryChange, "context": ContextQuery}
READERS: dict[str, Reader[Any]] = {kind: Reader(struct) for kind, struct in STRUCTS.items()}
KINDS: dict[str, tuple[dict[str, Any], dict[str, list[Row]]]] = {
    "memory": (MEMORY, MEMORY_TABLE),
    "search": (SEARCH, SEARCH_TABLE),
    "change": (CHANGE, CHANGE_TABLE),
    "context": (SEARCH, CONTEXT_TABLE),
}
ASKING = ("agent_id", "user_id", "query")
REQUIRED = {"memory": ("agent_id", "user_id", "content"), "search": ASKING, "change": (), "context": ASKING}
EMPTY: set[tuple[tuple[Any, ...], str]] = {(("body",), "value_error")}
"""The fault of a change that names nothing."""


def written(body: Any) -> bytes:
    """JSON with NaN, infinities, unpaired surrogates and an integer without end."""
    return json.dumps(body).replace(f'"{ENDLESS}"', "1" + "0" * 5000).encode()


def faults(reader: Reader[Any], raw: bytes) -> list[tuple[tuple[Any, ...], str]]:
    with pytest.raises(Invalid) as caught:
        reader.read(raw)
    return [(p.loc, p.type) for p in caught.value.problems]


def refused(read: Callable[[bytes], Any], raw: bytes) -> Sequence[Problem] | None:
    try:
        read(raw)
    except Invalid as error:
        return error.problems
    return None


def check_verdict(reader: Reader[Any], raw: bytes) -> None:
    problems = refused(reader.read, raw)
    assert problems == refused(reader.walk, raw), "both paths give one verdict"
    for problem in problems or ():
        assert problem.loc[0] == "body"
        json.dumps(problem.input, allow_nan=False).encode()
    if problems is None:
        assert reader.read(raw) == reader.walk(raw)
