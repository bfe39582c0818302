"""What every field of a request takes and refuses, written down by hand: the oracle for the readers.

Each row is a JSON value, then either the value that must come out or the fault that must be named.
Nothing here is derived from the code under test.
"""

from typing import Any

from tests.unit.api.filtering import FILTERS
from tests.unit.api.values import (
    FLAG,
    INF,
    LATEST,
    NAN,
    WRONG_IDS,
    Bad,
    Good,
    Row,
    choice,
    moment,
    optional,
    real,
    required,
    text,
    whole,
)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


ID = required(text(128), "string_type")
UNIT = optional([*real(0.0, 1.0)])
TAGS: list[Row] = [
    Good([], []),
    Good(["a", "b"], ["a", "b"]),
    Good(["b", "a", "b", "a"], ["b", "a"]),
    Good([" e ", "a,b", "50%"], [" e ", "a,b", "50%"]),
    Good([str(n) for n in range(32)], [str(n) for n in range(32)]),
    Good(["x" * 64], ["x" * 64]),
    Bad([str(n) for n in range(33)], "too_long"),
    Bad(["a", "x" * 65], "string_too_long", (1,)),
    Bad(["a", ""], "string_too_short", (1,)),
    Bad(["a", " "], "value_error", (1,)),
    Bad(["a\0"], "value_error", (0,)),
    Bad(["\ud800"], "value_error", (0,)),
    Bad([1], "string_type", (0,)),
    Bad([None], "string_type", (0,)),
    Bad("a", "list_type"),
    Bad('["a"]', "list_type"),
    Bad({}, "list_type"),
    Bad(None, "list_type"),
]
METADATA: list[Row] = [
    Good({}, {}),
    Good({"a": [1, 2.5, None, True, "x"], "": {"b": {}}}, {"a": [1, 2.5, None, True, "x"], "": {"b": {}}}),
    Good({"big": 2**80, "text": "\\u0000"}, {"big": 2**80, "text": "\\u0000"}),
    Good(nested(32), nested(32)),
    Good({"a": "x" * 16_376}, {"a": "x" * 16_376}),
    Bad({"a": "x" * 16_377}, "value_error"),
    Bad(nested(33), "value_error"),
    Bad({"a": [0] * 8_000, "b": [0] * 8_000}, "value_error"),
    Bad({"a": [[0] * 5_000] * 5}, "value_error"),
    Bad({"a": {"b": ["x", "y\0"]}}, "value_error", ("a", "b", 1)),
    Bad({"a": [{"k\0": 1}]}, "value_error", ("a", 0, "k\0")),
    Bad({"\ud800": 1}, "value_error", ("\\ud800",)),
    Bad({"a": ["\udc00"]}, "value_error", ("a", 0)),
    Bad({"a": NAN}, "finite_number", ("a",)),
    Bad({"a": [-INF]}, "finite_number", ("a", 0)),
    Bad({"a": 10**400}, "finite_number", ("a",)),
    Bad([], "dict_type"),
    Bad("{}", "dict_type"),
    Bad(None, "dict_type"),
]
PAST = [row if row.sent != LATEST else Bad(LATEST, "value_error") for row in moment(2024)]
TTL: list[Row] = [*whole(1, 3_153_600_000), Bad(0, "greater_than"), Bad(False, "greater_than")]
EMBEDDING: list[Row] = [
    Good([0.25, -1], [0.25, -1.0]),
    Good([1e300, 5e-324, -0.0], [1e300, 5e-324, -0.0]),
    Good([0.5] * 4096, [0.5] * 4096),
    Bad([], "too_short"),
    Bad([0.5] * 4097, "too_long"),
    Bad([1, NAN], "finite_number", (1,)),
    Bad([INF, 1], "finite_number", (0,)),
    Bad([10**400], "finite_number", (0,)),
    Bad(["0.5"], "float_type", (0,)),
    Bad([True], "float_type", (0,)),
    Bad([None], "float_type", (0,)),
    Bad([[0.5]], "float_type", (0,)),
    Bad("AAAA", "list_type"),
    Bad({"0": 1}, "list_type"),
    Bad(0.5, "list_type"),
]
MEMORY_TABLE: dict[str, list[Row]] = {
    "agent_id": ID,
    "user_id": ID,
    "content": required(text(8000), "string_type"),
    "importance": required(real(0.0, 2.0), "float_type"),
    "memory_type": required(choice("episodic", "semantic", "procedural"), "enum"),
    "created_at": optional(moment(2024)),
    "tags": TAGS,
    "metadata": METADATA,
    "session_id": optional(text(128)),
    "source": optional(text(128)),
    "external_id": optional(text(128)),
    "ttl_seconds": optional(TTL),
    "visibility": required(choice("private", "shared"), "enum"),
    "on_duplicate": required(choice("keep", "return"), "enum"),
    "embedding": optional(EMBEDDING),
}
CHANGE_TABLE: dict[str, list[Row]] = {
    "content": required(text(8000), "string_type"),
    "importance": required(real(0.0, 2.0), "float_type"),
    "tags": TAGS,
    "metadata": METADATA,
    "ttl_seconds": optional(TTL),
    "visibility": required(choice("private", "shared"), "enum"),
}
SEARCH_TABLE: dict[str, list[Row]] = {
    "agent_id": ID,
    "user_id": ID,
    "query": required(text(2000), "string_type"),
    "top_k": optional([*whole(1, 50), Bad(0, "greater_than_equal"), Bad(-5, "greater_than_equal")]),
    "alpha": UNIT,
    "memory_type": optional(choice("episodic", "semantic", "procedural")),
    "mode": required(choice("hybrid", "semantic", "keyword"), "enum"),
    "half_life_days": optional(list(real(0.0, 36_500.0, low_open=True))),
    "importance_weight": UNIT,
    "min_score": optional([Good(-3, -3.0), Good("1e300", 1e300), Bad(NAN, "finite_number"), Bad("x", "float_parsing")]),
    "filters": FILTERS,
    "agents": optional(
        [
            Good("*", "*"),
            Good(["a", "*", "a"], ["a", "*", "a"]),
            Good([str(n) for n in range(100)], [str(n) for n in range(100)]),
            Bad([], "too_short"),
            Bad([str(n) for n in range(101)], "too_long"),
            Bad("a", "enum"),
            Bad("", "enum"),
            Bad("**", "enum"),
            Bad({"a": 1}, "list_type"),
            Bad(True, "list_type"),
            Bad([None], "string_type", (0,)),
            *(Bad(["a", value], fault, (1,)) for value, fault in WRONG_IDS),
        ]
    ),
    "include_archived": FLAG,
    "as_of": optional(PAST),
    "explain": FLAG,
    "collapse": FLAG,
}
MAX_TOKENS = [
    *(row for row in whole(64, 32_000) if isinstance(row, Bad) or row.read >= 64),
    *(Bad(few, "greater_than_equal") for few in (0, -5, 63, True, " 7 ")),
]
CONTEXT_TABLE: dict[str, list[Row]] = {
    **{name: rows for name, rows in SEARCH_TABLE.items() if name != "explain"},
    "max_tokens": required(MAX_TOKENS, "int_type"),
}
MEMORY = {"agent_id": "assistant", "user_id": "ana", "content": "Ana prefers green tea."}
CHANGE: dict[str, Any] = {"importance": 1.0}
SEARCH = {"agent_id": "assistant", "user_id": "ana", "query": "What does Ana drink?"}
