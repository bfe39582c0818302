"""What each kind of value takes and refuses: rows of what is sent, and what must come out or what fault is named."""

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


def optional(rows: list[Row]) -> list[Row]:
    return [Good(None, None), *rows]


def required(rows: list[Row], fault: str) -> list[Row]:
    return [*rows, Bad(None, fault)]
