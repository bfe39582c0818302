"""The second ranking."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.reference.ranking import candidates_for, rerank, score
from bench.reference.storage import Candidate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
shares = st.floats(0, 1)


def row(number: int, similarity: float, days: float = 0.0) -> Candidate:
    return {
        "id": UUID(int=number),
        "agent_id": "a",
        "user_id": "u",
        "content": "text",
        "importance": 1.0,
        "memory_type": "episodic",
        "created_at": NOW - timedelta(days=days),
        "similarity": similarity,
    }


@given(shares, st.floats(0, 10_000), shares)
def test_the_score_is_its_formula_in_exact_arithmetic(similarity: float, age: float, alpha: float):
    with localcontext(prec=50):
        recency = Decimal("0.5") ** (Decimal(age) / 30)
        exact = Decimal(alpha) * Decimal(similarity) + (1 - Decimal(alpha)) * recency
        assert abs(Decimal(score(similarity, age, alpha)) - exact) <= Decimal("0.0000500001")


@given(shares, st.floats(0, 10_000), shares)
def test_a_score_has_four_decimals(similarity: float, age: float, alpha: float):
    value = score(similarity, age, alpha)
    assert float(f"{value:.4f}") == value


@pytest.mark.parametrize(("top_k", "fetched"), [(1, 3), (5, 15), (50, 150), (60, 150)])
def test_three_times_as_many_rows_are_fetched_up_to_a_bound(top_k: int, fetched: int):
    assert candidates_for(top_k) == fetched


def test_a_newer_row_overtakes_a_more_similar_one():
    rows = [row(1, 0.9, days=30), row(2, 0.8)]
    assert [(hit.id.int, hit.score) for hit in rerank(rows, 0.5, 2, NOW)] == [(2, 0.9), (1, 0.7)]


def test_equal_scores_keep_the_order_of_similarity_and_the_rest_is_cut():
    rows = [row(number, 0.5) for number in (3, 1, 2)]
    assert [hit.id.int for hit in rerank(rows, 0.7, 2, NOW)] == [3, 1]
