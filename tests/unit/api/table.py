"""What every field of a request takes and refuses, written down by hand: the oracle for the readers.

Each row is a JSON value, then either the value that must come out or the fault that must be named.
Nothing here is derived from the code under test.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

NAN, INF = float("nan"), float("inf")
ENDLESS = "@endless@"
"""Stands for an integer of 5,000 digits, which Python itself will not print."""


class Good(NamedTuple):
    sent: Any
    read: Any


class Bad(NamedTuple):
    sent: Any
    fault: str
    at: tuple[str | int, ...] = ()
    """Where below the field."""


Row = Good | Bad


def text(most: int) -> list[Row]:
    return [
        Good("a", "a"),
        Good(" a ", " a "),
        Good("x" * most, "x" * most),
        Good("😀" * most, "😀" * most),
        Good("\\u0000", "\\u0000"),
        Good("喝茶\n\t", "喝茶\n\t"),
        Bad("", "string_too_short"),
        Bad("x" * (most + 1), "string_too_long"),
        Bad(" ", "value_error"),
        Bad("\t\n\u3000", "value_error"),
        Bad("a\0b", "value_error"),
        Bad("\ud800", "value_error"),
        Bad("a\udfff", "value_error"),
        Bad(5, "string_type"),
        Bad(True, "string_type"),
        Bad(["a"], "string_type"),
        Bad({"a": "b"}, "string_type"),
    ]


def real(low: float, high: float, *, low_open: bool = False) -> list[Row]:
    under = "greater_than" if low_open else "greater_than_equal"
    return [
        Good(high, high),
        Good(str(high), high),
        Good(f" {high} ", high),
        Good(True, 1.0),
        Good(1, 1.0),
        Good("1e0", 1.0),
        Good(".5", 0.5),
        Good("+1.", 1.0),
        *([Bad(low, under)] if low_open else [Good(low, low)]),
        Bad(low - 0.001, under),
        Bad(high + 1, "less_than_equal"),
        Bad(10**30, "less_than_equal"),
        Bad(NAN, "finite_number"),
        Bad(INF, "finite_number"),
        Bad(-INF, "finite_number"),
        Bad("nan", "finite_number"),
        Bad("-Infinity", "finite_number"),
        Bad("1e999", "finite_number"),
        Bad(10**400, "finite_number"),
        Bad(ENDLESS, "finite_number"),
        Bad("1,2", "float_parsing"),
        Bad("1_0", "float_parsing"),
        Bad("", "float_parsing"),
        Bad("٣", "float_parsing"),
        Bad("1" * 5000, "float_parsing"),
        Bad([], "float_type"),
        Bad({}, "float_type"),
    ]


def whole(low: int, high: int) -> list[Row]:
    return [
        Good(low, low),
        Good(high, high),
        Good(float(high), high),
        Good(str(high), high),
        Good(" 7 ", 7),
        Good("7.0", 7),
        Good("+7", 7),
        Good(True, 1),
        Bad(high + 1, "less_than_equal"),
        Bad(2**70, "less_than_equal"),
        Bad("1" * 350, "less_than_equal"),
        Bad(5.5, "int_from_float"),
        Bad("5.5", "int_parsing"),
        Bad("five", "int_parsing"),
        Bad("5_0", "int_parsing"),
        Bad("1" * 5000, "int_parsing"),
        Bad(NAN, "finite_number"),
        Bad(-INF, "finite_number"),
        Bad([5], "int_type"),
        Bad({}, "int_type"),
    ]


SHAPES: tuple[Any, ...] = (None, [], {})
FLAG: list[Row] = [
    *(Good(value, True) for value in (True, 1, 1.0, "1", "true", "TRUE", "yes", "y", "on", "t")),
    *(Good(value, False) for value in (False, 0, 0.0, "0", "False", "no", "n", "off", "f")),
    *(Bad(value, "bool_parsing") for value in (2, -1, 0.5, "maybe", "", " true")),
    *(Bad(value, "bool_type") for value in SHAPES),
]


def choice(*words: str) -> list[Row]:
    wrong: tuple[Any, ...] = ("x", "", words[0].upper(), f" {words[0]}", 5, True, [], {}, [words[0]], "\ud800", "\0")
    return [*(Good(word, word) for word in words), *(Bad(value, "enum") for value in wrong)]


def moment(year: int) -> list[Row]:
    day = datetime(year, 5, 1, tzinfo=UTC)
    hour = day.replace(hour=10)
    seconds = int(hour.timestamp())
    return [
        Good(f"{year}-05-01", day),
        Good(f"{year}-05-01T10:00", hour),
        Good(f"{year}-05-01T10:00:00", hour),
        Good(f"{year}-05-01 10:00:00", hour),
        Good(f"{year}-05-01T10:00:00Z", hour),
        Good(f"{year}-05-01t10:00:00z", hour),
        Good(f"{year}-05-01T15:30:00+05:30", hour),
        Good(f"{year}-05-01T15:30:00+0530", hour),
        Good(f"{year}-05-01T02:00:00-08:00", hour),
        Good(f"{year}-05-01T15:00:00+05", hour),
        Good(f"{year}-05-01T10:00:00.250Z", hour.replace(microsecond=250_000)),
        Good(f"{year}-05-01T10:00:00.123456789Z", hour.replace(microsecond=123_457)),
        Good("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        Good(seconds, hour),
        Good(seconds + 0.5, hour.replace(microsecond=500_000)),
        Good(seconds * 1000, hour),
        Good(str(seconds), hour),
        Good(f" {seconds * 1000} ", hour),
        *(Bad(value, "value_error") for value in WRONG_TIMES),
        Bad(True, "datetime_type"),
        Bad([seconds], "datetime_type"),
        Bad({}, "datetime_type"),
    ]


WRONG_TIMES = (
    "",
    " ",
    "yesterday",
    "2024-02-30",
    "2024-05-01T25:00:00Z",
    "2024-05-01T10:00:60Z",
    "2024-05-01T10:00:00+99:00",
    "2024-05-01T10",
    "2024-W18-3",
    "20240501",
    "2024",
    "0000-05-01T10:00:00Z",
    "10000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-05:00",
    "0001-01-01T00:00:00+05:00",
    "2024-05-01T10:00:00Z\0",
    "２０２４-05-01",
    1_714_557_600_000_000,
    10**400,
    ENDLESS,
    NAN,
    INF,
)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def optional(rows: list[Row]) -> list[Row]:
    return [Good(None, None), *rows]


def required(rows: list[Row], fault: str) -> list[Row]:
    return [*rows, Bad(None, fault)]


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
FILTERS: list[Row] = [
    Good(None, None),
    Bad([], "dict_type"),
    Bad("x", "dict_type"),
    Bad({"types": []}, "too_short", ("types",)),
    Bad({"types": "semantic"}, "list_type", ("types",)),
    Bad({"types": ["semantic", "x"]}, "enum", ("types", 1)),
    Bad({"types": [{"$ne": ""}]}, "enum", ("types", 0)),
    Bad({"type": ["semantic"]}, "extra_forbidden", ("type",)),
    Bad({"created_after": "x"}, "value_error", ("created_after",)),
    Bad({"created_before": True}, "datetime_type", ("created_before",)),
    Bad({"created_after": "2024-01-02", "created_before": "2024-01-01"}, "value_error", ("created_before",)),
    Bad({"created_after": 1.7e9, "created_before": 1.7e9}, "value_error", ("created_before",)),
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
    "ttl_seconds": optional([*whole(1, 3_153_600_000), Bad(0, "greater_than"), Bad(False, "greater_than")]),
    "visibility": required(choice("private", "shared"), "enum"),
    "on_duplicate": [Good("keep", "keep"), Bad("return", "enum"), Bad(None, "enum")],
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
    "explain": FLAG,
    "collapse": FLAG,
}
MEMORY = {"agent_id": "assistant", "user_id": "ana", "content": "Ana prefers green tea."}
SEARCH = {"agent_id": "assistant", "user_id": "ana", "query": "What does Ana drink?"}
