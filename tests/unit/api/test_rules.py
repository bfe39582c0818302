"""Rules that span the fields of one request."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import UNSET

from memex.errors import Invalid
from tests.unit.api.readers import KINDS, READERS, check_verdict, faults, written
from tests.unit.api.table import MEMORY, SEARCH

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
