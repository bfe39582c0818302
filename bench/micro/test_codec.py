"""JSON at the door: a request's body read and checked, answers written; json of the standard library beside it."""

import json
from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from memex.api.bodies import Reader
from memex.api.examples import MEMORY, NEW
from memex.api.replies import encode
from memex.api.search import QUERY
from memex.model import Memory, NewMemory, SearchQuery, SearchResult

HITS = 5
BODIES = [
    pytest.param(SearchQuery, json.dumps(QUERY).encode(), id="search"),
    pytest.param(NewMemory, json.dumps(NEW).encode(), id="memory"),
]
HIT = msgspec.convert(MEMORY | {"score": 0.8731, "duplicates": 0}, Memory)
RESULT = SearchResult(results=[HIT] * HITS, query=str(QUERY["query"]), total=HITS)


def dumped(value: object) -> bytes:
    """What the standard library makes of plain values."""
    return json.dumps(value).encode()


@pytest.mark.parametrize(("struct", "body"), BODIES)
def test_read(benchmark: BenchmarkFixture, struct: type[Any], body: bytes) -> None:
    """The body of a correct request: decoded, and every rule checked."""
    benchmark.group = f"{struct.__name__}, read"
    assert benchmark(Reader(struct).read, body) == msgspec.json.decode(body, type=struct)


@pytest.mark.parametrize(("struct", "body"), BODIES)
def test_walk(benchmark: BenchmarkFixture, struct: type[Any], body: bytes) -> None:
    """The same by the path that names faults, which is taken when the decoder refuses."""
    benchmark.group = f"{struct.__name__}, read"
    assert benchmark(Reader(struct).walk, body) == msgspec.json.decode(body, type=struct)


@pytest.mark.parametrize(("struct", "body"), BODIES)
def test_read_by_json(benchmark: BenchmarkFixture, struct: type[Any], body: bytes) -> None:
    """Plain values, nothing checked."""
    benchmark.group = f"{struct.__name__}, read"
    assert msgspec.convert(benchmark(json.loads, body), struct) == msgspec.json.decode(body, type=struct)


@pytest.mark.parametrize("value", [RESULT, HIT], ids=["search", "memory"])
def test_write(benchmark: BenchmarkFixture, value: SearchResult | Memory) -> None:
    """The body of an answer."""
    benchmark.group = f"{type(value).__name__}, written"
    assert msgspec.json.decode(benchmark(encode, value), type=type(value)) == value


@pytest.mark.parametrize("value", [RESULT, HIT], ids=["search", "memory"])
def test_write_by_json(benchmark: BenchmarkFixture, value: SearchResult | Memory) -> None:
    """The same from dictionaries, which are there already."""
    benchmark.group = f"{type(value).__name__}, written"
    assert msgspec.json.decode(benchmark(dumped, msgspec.to_builtins(value)), type=type(value)) == value
