"""What every field of a request takes and refuses, written down by hand: the oracle for the readers.

Each row is a JSON value, then either the value that must come out or the fault that must be named.
Nothing here is derived from the code under test.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from memex.model import Comparison, Filters

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


LATEST = "9999-12-31T23:59:59Z"


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
        Good(LATEST, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
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


def filters(name: str, value: Any) -> Filters:
    fields: dict[str, Any] = {name: value}
    return Filters(**fields)


def tag_rows(name: str) -> list[Row]:
    return [
        Good({name: ["a,b", " e ", "50%", "a,b"]}, filters(name, ["a,b", " e ", "50%", "a,b"])),
        Good({name: None}, Filters()),
        Bad({name: []}, "too_short", (name,)),
        Bad({name: ["x"] * 33}, "too_long", (name,)),
        Bad({name: "a"}, "list_type", (name,)),
        Bad({name: {"any": ["a"]}}, "list_type", (name,)),
        Bad({name: ["a", ""]}, "string_too_short", (name, 1)),
        Bad({name: ["a", " \t"]}, "value_error", (name, 1)),
        Bad({name: ["x" * 65]}, "string_too_long", (name, 0)),
        Bad({name: ["a\0"]}, "value_error", (name, 0)),
        Bad({name: ["\ud800"]}, "value_error", (name, 0)),
        Bad({name: [5]}, "string_type", (name, 0)),
        Bad({name: [["a"]]}, "string_type", (name, 0)),
    ]


def id_rows(name: str) -> list[Row]:
    return [
        Good({name: "a::b/c?d#e %20 ü+"}, filters(name, "a::b/c?d#e %20 ü+")),
        Good({name: None}, Filters()),
        *(Bad({name: value}, fault, (name,)) for value, fault in WRONG_IDS),
    ]


WRONG_IDS: list[tuple[Any, str]] = [
    ("", "string_too_short"),
    (" ", "value_error"),
    ("x" * 129, "string_too_long"),
    ("a\0", "value_error"),
    ("\ud800", "value_error"),
    (5, "string_type"),
    ({"$ne": ""}, "string_type"),
    (["a"], "string_type"),
]
CONDITIONS: list[tuple[Any, Any]] = [
    *(({"k": value}, {"k": value}) for value in ("x", "", " ", "\\u0000", 1, -0.5, 2**63, 10**300, True, None)),
    *(({"k": {"eq": value}}, {"k": Comparison(eq=value)}) for value in ("x", 0, False, None)),
    *(({"k": {"ne": value}}, {"k": Comparison(ne=value)}) for value in ("x", 1.5, True, None)),
    ({"year": {"gte": 2020, "lte": 2022}}, {"year": Comparison(gte=2020, lte=2022)}),
    ({"k": {"gt": "a", "lt": "b"}}, {"k": Comparison(gt="a", lt="b")}),
    ({"k": {"in": ["a", 1, None, True]}}, {"k": Comparison(in_=["a", 1, None, True])}),
    ({"k": {"in": list(range(100))}}, {"k": Comparison(in_=list(range(100)))}),
    ({"k": {"exists": False}, "": 1}, {"k": Comparison(exists=False), "": 1}),
    ({"x" * 4096: "y" * 4096}, {"x" * 4096: "y" * 4096}),
    ({f"k{n}": n for n in range(32)}, {f"k{n}": n for n in range(32)}),
    ([{"k": {"gte": 1}}, {"k": {"lte": 2}, "": 1}], [{"k": Comparison(gte=1)}, {"k": Comparison(lte=2), "": 1}]),
    ([{"k": 1}] * 32, [{"k": 1}] * 32),
]
NO_TRUTH: tuple[Any, ...] = ("true", 1, 0, None, [])
OUTSIDE: tuple[Any, ...] = ([], {}, ["a"], {"a": 1})
WRONG_CONDITIONS: list[tuple[Any, str, tuple[str | int, ...]]] = [
    ({}, "too_short", ()),
    ({f"k{n}": n for n in range(33)}, "too_long", ()),
    ({f"k{n}": {"gt": 1, "lt": 2} for n in range(17)}, "value_error", ()),
    ([], "too_short", ()),
    ([{"k": 1}] * 33, "too_long", ()),
    ([{f"k{n}": n for n in range(17)}] * 2, "value_error", ()),
    ([{"k": 1}, {}], "too_short", (1,)),
    ([{"k": {}}], "value_error", (0, "k")),
    ([{"k": 1}, "k"], "dict_type", (1,)),
    ([None], "dict_type", (0,)),
    ([[{"k": 1}]], "dict_type", (0,)),
    ([{"k": 1}, {"k": {"like": "%"}}], "extra_forbidden", (1, "k", "like")),
    ([{"k": {"in": [INF]}}], "finite_number", (0, "k", "in", 0)),
    ("k", "dict_type", ()),
    (5, "dict_type", ()),
    ({"k": {}}, "value_error", ("k",)),
    ({"k": []}, "value_error", ("k",)),
    ({"k": {"like": "%"}}, "extra_forbidden", ("k", "like")),
    ({"k": {"$ne": ""}}, "extra_forbidden", ("k", "$ne")),
    ({"k": {"eq": 1, "EQ": 1}}, "extra_forbidden", ("k", "EQ")),
    ({"k": {"in_": [1]}}, "extra_forbidden", ("k", "in_")),
    *(({"k": {operator: value}}, "value_error", ("k", operator)) for operator in ("eq", "ne") for value in OUTSIDE),
    *(
        ({"k": {operator: value}}, "value_error", ("k", operator))
        for operator in ("gt", "gte", "lt", "lte")
        for value in (True, False, None, *OUTSIDE)
    ),
    ({"k": {"in": []}}, "too_short", ("k", "in")),
    ({"k": {"in": [0] * 101}}, "too_long", ("k", "in")),
    ({"k": {"in": "a"}}, "list_type", ("k", "in")),
    ({"k": {"in": {"a": 1}}}, "list_type", ("k", "in")),
    ({"k": {"in": [1, ["a"]]}}, "value_error", ("k", "in", 1)),
    *(({"k": {"exists": value}}, "bool_type", ("k", "exists")) for value in NO_TRUTH),
    ({"k": NAN}, "finite_number", ("k",)),
    ({"k": {"lt": INF}}, "finite_number", ("k", "lt")),
    ({"k": {"in": [1, 10**400]}}, "finite_number", ("k", "in", 1)),
    ({"k": ENDLESS}, "finite_number", ("k",)),
    ({"k": "x" * 4097}, "string_too_long", ("k",)),
    ({"k": "a\0"}, "value_error", ("k",)),
    ({"k": {"gt": "\ud800"}}, "value_error", ("k", "gt")),
    ({"k\0": 1}, "value_error", ("k\0",)),
    ({"\udc00": 1}, "value_error", ("\\udc00",)),
]
PAST = [row if row.sent != LATEST else Bad(LATEST, "value_error") for row in moment(2024)]
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
    *tag_rows("tags_any"),
    *tag_rows("tags_all"),
    *id_rows("session_id"),
    *id_rows("source"),
    *(Good({"metadata": asked}, Filters(metadata=read)) for asked, read in CONDITIONS),
    Good({"metadata": None}, Filters()),
    *(Bad({"metadata": asked}, fault, ("metadata", *at)) for asked, fault, at in WRONG_CONDITIONS),
]

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
MEMORY = {"agent_id": "assistant", "user_id": "ana", "content": "Ana prefers green tea."}
CHANGE: dict[str, Any] = {"importance": 1.0}
SEARCH = {"agent_id": "assistant", "user_id": "ana", "query": "What does Ana drink?"}
