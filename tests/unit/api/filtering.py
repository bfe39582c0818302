"""What filters take and refuse, as rows of a table."""

from typing import Any

from memex.model import Comparison, Filters
from tests.unit.api.values import ENDLESS, INF, NAN, WRONG_IDS, Bad, Good, Row


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
