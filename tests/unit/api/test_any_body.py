"""Any body at all: both paths of a reader give one verdict, and it names every fault."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memex.api.bodies import Reader
from memex.model import OPERATORS, SearchQuery
from tests.unit.api.readers import EMPTY, KINDS, READERS, REQUIRED, check_verdict, faults, written
from tests.unit.api.table import MEMORY, SEARCH
from tests.unit.api.values import INF, NAN, Bad, Good, Row


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
