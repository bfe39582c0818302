"""Conditions as PostgreSQL decides them, against the oracle."""

import json
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex.model import OPERATORS, ORDERING, Condition
from memex.store import paths
from tests.oracles import conditions as oracle

# Of a few, so that equal ones meet; some are only equal to who is careless with kinds, order or precision.
TEXTS = [
    "",
    "a",
    "A",
    "B",
    "b",
    "ä",
    "z",
    "ab",
    "a b",
    "1",
    "true",
    "null",
    "茶",
    "😀",
    "\ufffd",
    "\x01\n\t\\\"'$v0%_*",
]
NUMBERS: list[float] = [
    *(0, 1, 1.0, -1, 0.1, 1e-300, -0.0, 2**53, 2**53 + 1, 2**63, 2**64, 10**23, 1e23, 10**300),
    *(1.7976931348623157e308, 5e-324, -(2**63) - 1),
]
SCALARS = st.sampled_from([*TEXTS, *NUMBERS, True, False, None])
KEYS = st.sampled_from(
    [
        "a",
        "b",
        "",
        " ",
        "$",
        '$."a"',
        '"',
        '" || true || "',
        "') --",
        "\\",
        "\\u0061",
        "ключ",
        "a.b",
        "😀",
        "\x1f",
        "v0",
    ]
)
NESTED = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2))
METADATA = st.dictionaries(KEYS, NESTED, max_size=5)


def operand(operator: str) -> st.SearchStrategy[Any]:
    if operator == "exists":
        return st.booleans()
    if operator == "in":
        return st.lists(SCALARS, min_size=1, max_size=4)
    return st.sampled_from([*TEXTS, *NUMBERS]) if operator in ORDERING else SCALARS


CONDITIONS = st.sampled_from(OPERATORS).flatmap(
    lambda operator: st.builds(Condition, KEYS, st.just(operator), operand(operator))
)


def matching(connection: psycopg.Connection[Any], metadata: list[Any], conditions: list[Condition]) -> list[bool]:
    path, variables = (wire.data[1:].decode() for wire in paths.parameters(conditions) if wire.data)
    found = connection.execute(
        "SELECT coalesce(jsonb_path_match(m.value, %s::jsonpath, %s::jsonb, true), false)"
        " FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS m ORDER BY m.ordinality",
        [path, variables, json.dumps(metadata)],
    )
    return [row[0] for row in found.fetchall()]


def test_any_conditions_hold_where_the_oracle_says(database: str):
    with psycopg.connect(database, autocommit=True) as connection:

        @settings(max_examples=400, deadline=None)
        @given(st.lists(METADATA, min_size=1, max_size=20), st.lists(CONDITIONS, min_size=1, max_size=3))
        def compare(metadata: list[dict[str, Any]], conditions: list[Condition]) -> None:
            expected = [oracle.hold(each, conditions) for each in metadata]
            assert matching(connection, metadata, conditions) == expected

        compare()


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operator_on_every_pair_of_values(database: str, operator: str):
    """All pairs: random ones seldom meet."""
    values: list[Any] = [*TEXTS, *NUMBERS, True, False, None, [], {}, ["a"], [1], {"a": 1}, [[1]]]
    metadata = [{"a": value} for value in values] + [{}, {"b": 1}]
    operands: list[Any] = [True, False] if operator == "exists" else [*TEXTS, *NUMBERS]
    if operator in ("eq", "ne", "in"):
        operands += [True, False, None]
    with psycopg.connect(database, autocommit=True) as connection:
        for each in operands:
            condition = Condition("a", operator, [each, "some other"] if operator == "in" else each)
            expected = [oracle.hold(one, [condition]) for one in metadata]
            assert matching(connection, metadata, [condition]) == expected, each
