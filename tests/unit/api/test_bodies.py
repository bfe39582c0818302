import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from memex.api.bodies import Reader, is_json
from memex.errors import Invalid, Problem
from memex.model import OPERATORS, MemoryChange, NewMemory, SearchQuery
from memex.reading.faults import MOST
from tests.unit.api.table import (
    CHANGE,
    CHANGE_TABLE,
    ENDLESS,
    INF,
    MEMORY,
    MEMORY_TABLE,
    NAN,
    SEARCH,
    SEARCH_TABLE,
    Bad,
    Good,
    Row,
    moment,
)

STRUCTS = {"memory": NewMemory, "search": SearchQuery, "change": MemoryChange}
READERS: dict[str, Reader[Any]] = {kind: Reader(struct) for kind, struct in STRUCTS.items()}
KINDS: dict[str, tuple[dict[str, Any], dict[str, list[Row]]]] = {
    "memory": (MEMORY, MEMORY_TABLE),
    "search": (SEARCH, SEARCH_TABLE),
    "change": (CHANGE, CHANGE_TABLE),
}
REQUIRED = {"memory": ("agent_id", "user_id", "content"), "search": ("agent_id", "user_id", "query"), "change": ()}
# Read by rules of their own, below.
APART = {"memory": {"timestamp", "expires_at"}, "search": set(), "change": {"expires_at", "embedding"}}
EMPTY: set[tuple[tuple[Any, ...], str]] = {(("body",), "value_error")}
"""The fault of a change that names nothing."""
CASES = [
    pytest.param(kind, name, row, id=f"{kind}-{name}-{at}")
    for kind, (_, table) in KINDS.items()
    for name, rows in table.items()
    for at, row in enumerate(rows)
]


def written(body: Any) -> bytes:
    """JSON with NaN, infinities, unpaired surrogates and an integer without end."""
    return json.dumps(body).replace(f'"{ENDLESS}"', "1" + "0" * 5000).encode()


def faults(reader: Reader[Any], raw: bytes) -> list[tuple[tuple[Any, ...], str]]:
    with pytest.raises(Invalid) as caught:
        reader.read(raw)
    return [(p.loc, p.type) for p in caught.value.problems]


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


CHANGES: list[tuple[dict[str, Any], list[tuple[tuple[Any, ...], str]]]] = [
    ({"expires_at": None}, []),
    ({"ttl_seconds": None}, []),
    ({"expires_at": "2999-01-01"}, []),
    ({"tags": []}, []),
    ({"metadata": {}}, []),
    ({"content": "tea", "embedding": [1, 2]}, []),
    ({"expires_at": None, "ttl_seconds": None}, [(("body", "ttl_seconds"), "value_error")]),
    ({"expires_at": None, "ttl_seconds": 5}, [(("body", "ttl_seconds"), "value_error")]),
    ({"expires_at": "2999-01-01", "ttl_seconds": None}, [(("body", "ttl_seconds"), "value_error")]),
    ({"expires_at": "2999-01-01", "ttl_seconds": 5}, [(("body", "ttl_seconds"), "value_error")]),
    ({"expires_at": "2020-01-01"}, [(("body", "expires_at"), "value_error")]),
    ({"embedding": [1, 2]}, [(("body", "embedding"), "value_error")]),
    ({"importance": 1, "embedding": [1, 2]}, [(("body", "embedding"), "value_error")]),
    ({"content": "tea", "embedding": [1, "2"]}, [(("body", "embedding", 1), "float_type")]),
    ({"content": "tea", "embedding": None}, [(("body", "embedding"), "list_type")]),
    ({"content": "a\0"}, [(("body", "content"), "value_error")]),
    ({"content": "  "}, [(("body", "content"), "value_error")]),
    ({"tags": ["a", " "]}, [(("body", "tags", 1), "value_error")]),
    ({"importance": 9}, [(("body", "importance"), "less_than_equal")]),
    ({"id": "x"}, [(("body", "id"), "extra_forbidden")]),
    ({"agent_id": "assistant"}, [(("body", "agent_id"), "extra_forbidden")]),
    ({"memory_type": "semantic", "importance": 1}, [(("body", "memory_type"), "extra_forbidden")]),
]


@pytest.mark.parametrize(("sent", "expected"), CHANGES, ids=str)
def test_a_change_is_read_by_both_paths_alike(sent: dict[str, Any], expected: list[tuple[tuple[Any, ...], str]]):
    reader, raw = READERS["change"], written(sent)
    if expected:
        assert faults(reader, raw) == expected
    else:
        read = reader.read(raw)
        assert read == reader.walk(raw)
        assert {name for name in read.__struct_fields__ if getattr(read, name) is not UNSET} == set(sent)
    check_verdict(reader, raw)


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


def test_both_names_of_the_time_may_say_the_same():
    body = MEMORY | {"created_at": "2024-05-01T10:00:00Z", "timestamp": "2024-05-01T12:00:00+02:00"}
    assert READERS["memory"].read(written(body)).created_at == datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"created_at": "2024-05-01", "timestamp": "2024-05-02"}, "timestamp"),
        ({"expires_at": "2999-01-01", "ttl_seconds": 60}, "ttl_seconds"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ],
)
def test_fields_that_contradict_each_other_are_refused_with_the_other_faults(fields: dict[str, Any], at: str):
    assert faults(READERS["memory"], written(MEMORY | fields)) == [(("body", at), "value_error")]
    beside = written({"user_id": 5, "content": "x"} | fields)
    expected = {(("body", "agent_id"), "missing"), (("body", "user_id"), "string_type"), (("body", at), "value_error")}
    assert set(faults(READERS["memory"], beside)) == expected


@pytest.mark.parametrize(
    ("kind", "fields", "at"),
    [
        ("memory", {"created_at": 1, "timestamp": 2}, "timestamp"),
        ("memory", {"created_at": "2024-05-01T10:00:00Z", "timestamp": "2024-05-01T11:00:00+00:00"}, "timestamp"),
        ("memory", {"expires_at": "2020-01-01T00:00:00+02:00"}, "expires_at"),
        ("memory", {"expires_at": 5}, "expires_at"),
        ("memory", {"expires_at": "2999-01-01T00:00:00Z", "ttl_seconds": 60}, "ttl_seconds"),
        ("memory", {"expires_at": "2999-01-01", "ttl_seconds": "60"}, "ttl_seconds"),
        ("memory", {"created_at": "9999-12-31T23:59:59-05:00"}, "created_at"),
        ("search", {"memory_type": "episodic", "filters": {"types": ["semantic"]}}, "memory_type"),
        ("search", {"as_of": "2999-01-01T00:00:00Z"}, "as_of"),
        ("search", {"as_of": "2999-01-01"}, "as_of"),
        ("search", {"filters": {"created_after": 7, "created_before": 6}}, "created_before"),
        (
            "search",
            {"filters": {"created_after": "2024-01-01T00:00:00Z", "created_before": "2024-01-01T00:00:00Z"}},
            "created_before",
        ),
    ],
)
def test_a_rule_shows_what_was_sent_and_not_how_it_was_read(kind: str, fields: dict[str, Any], at: str):
    with pytest.raises(Invalid) as caught:
        READERS[kind].read(written(KINDS[kind][0] | fields))
    (problem,) = caught.value.problems
    assert problem.loc[-1] == at
    assert problem.input == (fields.get("filters", {}) | fields)[at]


def test_an_expiry_in_a_second_is_good():
    soon = datetime.now(UTC) + timedelta(seconds=60)
    assert READERS["memory"].read(written(MEMORY | {"expires_at": soon.isoformat()})).expires_at == soon


def test_filters_are_read_into_utc():
    filters = {"types": ["semantic"], "created_after": "2024-01-01T01:00:00+01:00", "created_before": 1_704_153_600}
    read = READERS["search"].read(written(SEARCH | {"filters": filters})).filters
    assert read.types == ["semantic"]
    assert read.created_after == datetime(2024, 1, 1, tzinfo=UTC)
    assert read.created_before == datetime(2024, 1, 2, tzinfo=UTC)
    assert read.created_after.tzinfo is UTC


def test_a_type_that_the_filter_excludes_is_refused():
    sent = SEARCH | {"memory_type": "episodic", "filters": {"types": ["semantic", "procedural"]}}
    assert faults(READERS["search"], written(sent)) == [(("body", "memory_type"), "value_error")]
    assert READERS["search"].read(written(sent | {"memory_type": "semantic"})).memory_type == "semantic"


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


def composed(kind: str) -> st.SearchStrategy[dict[str, Row]]:
    base, table = KINDS[kind]
    fields = {name: st.sampled_from(rows) for name, rows in table.items()}
    return st.fixed_dictionaries(
        {}, optional={name: one if name in base else st.none() | one for name, one in fields.items()}
    ).map(lambda drawn: {name: row for name, row in drawn.items() if row is not None})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_all_faults_of_a_body_are_told_together_and_only_they(kind: str, data: st.DataObject):
    rows = data.draw(composed(kind))
    raw = written({name: row.sent for name, row in rows.items()})
    expected = {(("body", name, *row.at), row.fault) for name, row in rows.items() if isinstance(row, Bad)}
    expected |= {(("body", name), "missing") for name in REQUIRED[kind] if name not in rows}
    expected |= EMPTY if kind == "change" and not rows else set()
    if expected:
        assert set(faults(READERS[kind], raw)) == expected
    else:
        read = READERS[kind].read(raw)
        assert {name: getattr(read, name) for name in rows} == {
            n: r.read for n, r in rows.items() if isinstance(r, Good)
        }


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.sampled_from(["a", "\0", "\ud800", "semantic", "5", 10**400, NAN, INF]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_json_is_read_or_refused_by_name(kind: str, data: st.DataObject):
    base, table = KINDS[kind]
    names = st.sampled_from([*table, "timestamp", "expires_at", "other"])
    body = data.draw(st.dictionaries(names, ANYTHING).map(lambda drawn: base | drawn) | ANYTHING)
    check_verdict(READERS[kind], written(body))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(raw=st.binary(max_size=200))
@example(raw=b'{"agent_id": "\\ud800')
def test_any_bytes_are_read_or_refused_by_name(kind: str, raw: bytes):
    check_verdict(READERS[kind], raw)


def check_verdict(reader: Reader[Any], raw: bytes) -> None:
    problems = refused(reader.read, raw)
    assert problems == refused(reader.walk, raw), "both paths give one verdict"
    for problem in problems or ():
        assert problem.loc[0] == "body"
        json.dumps(problem.input, allow_nan=False).encode()
    if problems is None:
        assert reader.read(raw) == reader.walk(raw)


def refused(read: Callable[[bytes], Any], raw: bytes) -> Sequence[Problem] | None:
    try:
        read(raw)
    except Invalid as error:
        return error.problems
    return None


CLAUSE = st.dictionaries(
    st.text(st.characters(codec=None), max_size=3),
    ANYTHING | st.dictionaries(st.sampled_from([*OPERATORS, "in_", "x"]), ANYTHING, max_size=3),
    max_size=3,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(metadata=CLAUSE | st.lists(CLAUSE | ANYTHING, max_size=4))
@example(metadata=[{f"k{n}": n for n in range(17)}] * 2)
@example(metadata=[{"k": 1}] * 33)
def test_any_conditions_are_read_or_refused_by_name(metadata: Any):
    check_verdict(READERS["search"], written(SEARCH | {"filters": {"metadata": metadata}}))


def test_an_unknown_operator_is_never_dropped():
    lenient = Reader(SearchQuery, lenient=True)
    asked = written(SEARCH | {"filters": {"metadata": {"k": {"like": "%", "eq": 1}}}})
    assert faults(lenient, asked) == [(("body", "filters", "metadata", "k", "like"), "extra_forbidden")]


TIME_LIKE = st.from_regex(
    r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]([Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9]([.,][0-9]{1,12})?)?"
    r"([Zz]|[ +-][0-9:]{2,6})?)?\Z"
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TIME_LIKE)
def test_both_paths_read_one_text_as_one_time(text: str):
    check_verdict(READERS["memory"], written(MEMORY | {"created_at": text}))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_fast_path_and_the_walk_read_alike(kind: str, data: st.DataObject):
    rows = data.draw(composed(kind))
    raw = written({name: row.sent for name, row in rows.items() if isinstance(row, Good)} | {})
    raw = written(KINDS[kind][0] | json.loads(raw))
    reader = READERS[kind]
    assert reader.read(raw) == reader.walk(raw)


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
