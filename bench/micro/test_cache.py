"""The embedding cache: what a hit, a miss's bookkeeping and the key before either cost."""

import hashlib
import itertools

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.micro.texts import LENGTHS
from memex.embedder.cache import Cache, Embedded, Keys, framed, size_of
from memex.embedder.encoder import Role
from memex.metrics import Metrics

MODEL, ENGINE, TENANT = "model@0123456789abcdef", "onnxruntime", "default"
VECTORS: Embedded = (np.full(384, 384**-0.5, dtype=np.float32),)
HELD = 1_000


def key(number: int) -> bytes:
    """A key like any other."""
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def full() -> Cache:
    """A cache that has room for exactly the HELD entries in it."""
    cache = Cache(HELD * size_of(VECTORS), Metrics())
    for number in range(HELD):
        cache.put(key(number), VECTORS)
    return cache


@pytest.mark.parametrize("name", LENGTHS)
def test_key(benchmark: BenchmarkFixture, name: str) -> None:
    """SHA-256 over everything that the vectors depend on."""
    benchmark.group = "cache"
    found = benchmark(Keys(MODEL, ENGINE).key, Role.QUERY, TENANT, LENGTHS[name])
    hashed = framed(MODEL, ENGINE, Role.QUERY.value) + framed(TENANT) + LENGTHS[name].encode()
    assert found == hashlib.sha256(hashed).digest()


def test_hit(benchmark: BenchmarkFixture) -> None:
    """A vector that is there."""
    benchmark.group = "cache"
    cache = full()
    assert benchmark(cache.get, key(HELD // 2)) is VECTORS
    assert len(cache) == HELD


def test_put_with_eviction(benchmark: BenchmarkFixture) -> None:
    """One in, the least recently used out."""
    benchmark.group = "cache"
    cache, numbers = full(), itertools.count(HELD)
    keys = [key(next(numbers)) for _ in range(2 * HELD)]
    turns = itertools.cycle(keys)

    def put() -> bytes:
        cache.put(latest := next(turns), VECTORS)
        return latest

    latest = benchmark(put)
    assert cache.get(latest) is VECTORS
    assert cache.get(key(0)) is None
    assert (len(cache), cache.bytes) == (HELD, HELD * size_of(VECTORS))
