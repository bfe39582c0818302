"""What single fields take and refuse, and what is no body."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memex.api.bodies import Reader, is_json
from memex.errors import Invalid
from memex.model import ContextQuery, RemovalQuery, SearchQuery
from memex.reading.faults import MOST
from tests.unit.api.readers import EMPTY, KINDS, READERS, REQUIRED, STRUCTS, faults, written
from tests.unit.api.table import MEMORY, SEARCH
from tests.unit.api.values import NAN, Good, Row, moment

# Read by rules of their own, in tests of their own.
APART = {
    "memory": {"timestamp", "expires_at"},
    "search": set(),
    "change": {"expires_at", "embedding"},
    "context": set(),
}
CASES = [
    pytest.param(kind, name, row, id=f"{kind}-{name}-{at}")
    for kind, (_, table) in KINDS.items()
    for name, rows in table.items()
    for at, row in enumerate(rows)
]


@pytest.mark.parametrize(("kind", "name", "row"), CASES)
def test_a_field_takes_and_refuses_what_the_table_says(kind: str, name: str, row: Row):
    raw = written(KINDS[kind][0] | {name: row.sent})
    if isinstance(row, Good):
        read = getattr(READERS[kind].read(raw), name)
        assert read == row.read
        assert type(read) is type(row.read) or isinstance(read, str)
    else:
        assert faults(READERS[kind], raw) == [(("body", name, *row.at), row.fault)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_names_every_field(kind: str):
    assert set(KINDS[kind][1]) | APART[kind] == set(STRUCTS[kind].__struct_fields__)


@pytest.mark.parametrize("row", moment(2024))
def test_timestamp_is_another_name_for_created_at(row: Row):
    raw = written(MEMORY | {"timestamp": row.sent})
    if isinstance(row, Good):
        read = READERS["memory"].read(raw)
        assert (read.created_at, read.timestamp) == (row.read, None)
    else:
        assert faults(READERS["memory"], raw) == [(("body", "timestamp"), row.fault)]


@pytest.mark.parametrize("row", moment(2999))
def test_expires_at_is_read_as_other_times(row: Row):
    # Of the year 2999 only milliseconds can be told from seconds.
    if isinstance(row.sent, int | float) and row.sent < 1e12 and isinstance(row, Good):
        return
    if isinstance(row.sent, str) and row.sent.isdigit() and len(row.sent) > 8 and float(row.sent) < 1e12:
        return
    raw = written(MEMORY | {"expires_at": row.sent})
    if isinstance(row, Good):
        assert READERS["memory"].read(raw).expires_at == row.read
    else:
        assert faults(READERS["memory"], raw) == [(("body", "expires_at"), row.fault)]


@pytest.mark.parametrize(
    ("seconds", "read"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-86_400, datetime(1969, 12, 31, tzinfo=UTC)),
        (20_000_000_000, datetime(2603, 10, 11, 11, 33, 20, tzinfo=UTC)),
        (20_000_000_001, datetime(1970, 8, 20, 11, 33, 20, 1000, tzinfo=UTC)),
        (-20_000_000_001, datetime(1969, 5, 14, 12, 26, 39, 999_000, tzinfo=UTC)),
        (253_402_300_799_999, datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
    ],
)
def test_numbers_above_two_times_ten_to_the_tenth_are_milliseconds(seconds: int, read: datetime):
    assert READERS["memory"].read(written(MEMORY | {"created_at": seconds})).created_at == read


@pytest.mark.parametrize("kind", KINDS)
def test_every_missing_field_is_named(kind: str):
    expected: list[tuple[tuple[Any, ...], str]] = [(("body", name), "missing") for name in REQUIRED[kind]]
    assert faults(READERS[kind], b"{}") == (expected or list(EMPTY))


def test_unknown_fields_are_refused_at_every_level():
    raw = written(SEARCH | {"topk": 5, "filters": {"created": 1}})
    assert faults(READERS["search"], raw) == [
        (("body", "filters", "created"), "extra_forbidden"),
        (("body", "topk"), "extra_forbidden"),
    ]


def test_unknown_fields_are_dropped_at_every_level_if_so_set():
    lenient = Reader(SearchQuery, lenient=True)
    read = lenient.read(written(SEARCH | {"topk": 5, "filters": {"created": 1, "types": ["semantic"]}}))
    assert read.filters is not None
    assert (read.query, read.filters.types) == (SEARCH["query"], ["semantic"])
    assert faults(lenient, written({"topk": 5})) == [(("body", n), "missing") for n in REQUIRED["search"]]


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", (("body",), "missing")),
        (b" ", (("body", 1), "json_invalid")),
        (b"{", (("body", 1), "json_invalid")),
        (b"{'a': 1}", (("body", 1), "json_invalid")),
        (b'{"a": 1,}', None),
        (b'{"a": 1} x', (("body", 9), "json_invalid")),
        (b'{"a": "\x01"}', (("body", 7), "json_invalid")),
        (b'{"a": "\xff"}', (("body", 7), "json_invalid")),
        (b'{"a": "\xed\xa0\x80"}', (("body", 7), "json_invalid")),
        (b"\xef\xbb\xbf{}", (("body", 0), "json_invalid")),
        ("{}".encode("utf-16"), (("body", 0), "json_invalid")),
        (b"[" * 100_000, (("body",), "json_invalid")),
        (b'{"a":' * 100_000, (("body",), "json_invalid")),
        (b"[]", (("body",), "dict_type")),
        (b"null", (("body",), "dict_type")),
        (b'"text"', (("body",), "dict_type")),
        (b"5", (("body",), "dict_type")),
        (b"NaN", (("body",), "dict_type")),
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes, fault: tuple[Any, str] | None):
    found = faults(READERS["search"], raw)
    assert found[0] == fault if fault else found[0][1] == "json_invalid"


def test_of_a_repeated_key_the_last_one_counts_on_both_paths():
    fast = b'{"agent_id": "b", "agent_id": "a", "user_id": "u", "query": "q"}'
    slow = b'{"agent_id": 5, "agent_id": "a", "user_id": "u", "query": "q", "top_k": "5"}'
    assert READERS["search"].read(fast).agent_id == READERS["search"].read(slow).agent_id == "a"


def test_what_is_shown_back_is_short_and_valid():
    raw = written({"agent_id": "x" * 5000, "user_id": NAN, "query": [[[[[["deep"]]]]]], "alpha": {"\ud800": 2**70}})
    with pytest.raises(Invalid) as caught:
        READERS["search"].read(raw)
    shown = {p.loc[-1]: p.input for p in caught.value.problems}
    assert shown["agent_id"] == "x" * 200 + "…"
    assert shown["user_id"] == "NaN"
    assert shown["query"] == [[[["[…]"]]]]
    assert shown["alpha"] == {"\\ud800": str(2**70)}


def test_the_number_of_faults_is_bounded():
    raw = written(SEARCH | {f"x{n}": n for n in range(5000)})
    assert len(faults(READERS["search"], raw)) == MOST


def test_messages_are_those_that_clients_know():
    body = {"agent_id": "", "user_id": "u" * 129, "query": "q", "top_k": 5.5, "alpha": -1, "mode": "x", "zzz": 1}
    with pytest.raises(Invalid) as caught:
        READERS["search"].read(written(body))
    assert {p.loc[-1]: p.msg for p in caught.value.problems} == {
        "agent_id": "String should have at least 1 character",
        "user_id": "String should have at most 128 characters",
        "top_k": "Input should be a valid integer, got a number with a fractional part",
        "alpha": "Input should be greater than or equal to 0",
        "mode": "Input should be 'hybrid', 'semantic' or 'keyword'",
        "zzz": "Extra inputs are not permitted",
    }


@pytest.mark.parametrize(
    ("declared", "good"),
    [
        ("application/json", True),
        ("Application/JSON; charset=UTF-8", True),
        ('application/json;charset="utf-8"', True),
        ("application/merge-patch+json", True),
        ("application/json; charset=latin-1", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("text/json", False),
        ("", False),
    ],
)
def test_only_json_in_utf8_is_taken(declared: str, good: bool):
    assert is_json(declared) is good


REPEATED: list[tuple[str, bytes, list[tuple[str | int, ...]]]] = [
    ("metadata", b'"filters": {"metadata": {"k": {"gte": 1}, "k": {"lte": 2}}}', [("filters", "metadata", "k")]),
    ("escaped", b'"filters": {"metadata": {"k": 1, "\\u006b": 2}}', [("filters", "metadata", "k")]),
    ("operator", b'"filters": {"metadata": [{"k": {"ne": 1, "ne": 2}}]}', [("filters", "metadata", 0, "k", "ne")]),
    ("tags", b'"filters": {"tags_any": ["a"], "tags_any": ["b"]}', [("filters", "tags_any")]),
    ("none", b'"filters": {"tags_any": ["a"]}, "filters": null', [("filters",)]),
    ("scope", b'"user_id": "v", "filters": {"source": "a", "source": "a"}', [("user_id",), ("filters", "source")]),
    ("thrice", b'"filters": {"source": "a", "source": "b", "source": "c"}', [("filters", "source")]),
]


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("name", "sent", "places"), REPEATED, ids=[name for name, *_ in REPEATED])
def test_no_condition_is_lost_to_another_of_its_name(
    name: str, sent: bytes, places: list[tuple[str | int, ...]], lenient: bool
):
    for struct in (SearchQuery, ContextQuery):
        reader = Reader(struct, lenient=lenient)
        raw = b'{"agent_id": "a", "user_id": "u", "query": "q", ' + sent + b"}"
        expected = [(("body", *place), "value_error") for place in places]
        assert faults(reader, raw) == expected
        assert faults(reader, raw[:-1] + b', "top_k": "5"}') == expected, "on the slow path too"


def test_nor_one_of_a_delete():
    reader = Reader(RemovalQuery)
    raw = b'{"agent_id": "a", "tags_any": ["a"], "tags_any": ["b"]}'
    assert faults(reader, raw) == [(("body", "tags_any"), "value_error")]
    many = b'{"agent_id": "a", ' + b", ".join(b'"source": "s"' for _ in range(100_000)) + b"}"
    assert faults(reader, many) == [(("body", "source"), "value_error")]
