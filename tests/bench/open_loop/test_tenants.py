"""Spaces to ask in: their sizes, and what they are filled with."""

from collections import Counter
from itertools import islice

import numpy as np
import numpy.typing as npt
import pytest

from bench.load.tenants import MOST_ROWS, Rows, Tenant, busy, disturbed, made, tenants
from memex.store import Write

DIMENSIONS = 384


def unit_rows(count: int) -> npt.NDArray[np.float32]:
    rows = np.random.default_rng(7).standard_normal((count, DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@pytest.mark.parametrize("rows", [Rows.TEN, Rows.HUNDRED, Rows.THOUSAND, Rows.TEN_THOUSAND, Rows.HUNDRED_THOUSAND])
def test_tenants_of_one_size_have_that_size_and_are_not_too_many(rows: Rows):
    sizes = [tenant.rows for tenant in tenants(rows)]
    assert set(sizes) == {int(rows)}
    assert sum(sizes) <= MOST_ROWS


@pytest.mark.parametrize("rows", Rows)
def test_no_two_tenants_are_one(rows: Rows):
    chosen = tenants(rows)
    assert len({(tenant.agent_id, tenant.user_id) for tenant in chosen}) == len(chosen)


def test_nine_of_ten_skewed_tenants_are_small_and_the_whale_is_one():
    sizes = [tenant.rows for tenant in tenants(Rows.SKEWED)]
    assert sum(size < 200 for size in sizes) == 180
    assert 200 <= min(sizes[180:]) <= max(sizes) <= 10_000
    assert sorted(tenant.rows for tenant in tenants(Rows.WHALE))[-2:] == [max(sizes[:-1]), MOST_ROWS]


def test_a_tenant_is_busy_as_the_square_root_of_its_rows():
    chosen = [Tenant("a", "small", 100), Tenant("a", "large", 10_000)]
    found = Counter(tenant.user_id for tenant in islice(busy(chosen, 0), 11_000))
    assert found["large"] / found["small"] == pytest.approx(10, rel=0.1)


def test_a_disturbed_vector_is_a_unit_vector_near_its_own():
    chooser, vectors = np.random.default_rng(1), unit_rows(50)
    near = np.stack([disturbed(vector, chooser) for vector in vectors])
    assert np.linalg.norm(near, axis=1) == pytest.approx(1, abs=1e-5)
    cosines = (near * vectors).sum(axis=1)
    assert cosines.min() > 0.97
    assert cosines.max() < 0.995


def test_every_memory_is_a_text_of_its_own_in_its_tenants_space():
    chosen = [Tenant("agent", "one", 30), Tenant("agent", "two", 20)]
    found: list[Write] = list(made(chosen, (["A green lamp was sold", "Rain fell"], unit_rows(2)), "model"))
    assert Counter(write.space.user_id for write in found) == {"one": 30, "two": 20}
    assert len({write.text.content_hash for write in found}) == len({write.id for write in found}) == 50
    assert all(len(write.text.vectors[0]) == 2 * DIMENSIONS and write.text.terms for write in found)
