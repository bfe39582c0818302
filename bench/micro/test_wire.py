"""Vectors and terms on their way to and from PostgreSQL, beside NumPy where it can do the same."""

import struct
import uuid

import numpy as np
import numpy.typing as npt
from psycopg.adapt import Buffer
from pytest_benchmark.fixture import BenchmarkFixture

from bench.micro.texts import LONG, SENTENCE
from memex.embedder.vectors import to_half
from memex.index import TERMS_VERSION, tokenize
from memex.model import MemoryType, Space, Visibility
from memex.store.composites import Encoded, Text, Write, encode
from memex.store.wire import ARRAY, HALFVEC, HEAD, INT4, LENGTH, HalfvecsLoader, array_of, halfvec_element, number_array

DIMENSIONS = 384
CHUNKS = 3
HALFVEC_OID = 16_385
NOISE = np.random.default_rng(1).normal(size=DIMENSIONS)
VECTOR = (NOISE / np.linalg.norm(NOISE)).astype(np.float32)
STORED = VECTOR.astype("<f2").tobytes()
COLUMN = array_of(HALFVEC_OID, [halfvec_element(STORED)] * CHUNKS)
IDS = tokenize(" ".join(f"{LONG} {number}" for number in range(200))).ids
NUMBERS = struct.Struct(">ii")


def numpy_column(data: Buffer) -> list[bytes]:
    """The same as the loader for vectors of DIMENSIONS, which it takes as known."""
    element = np.dtype([("head", "V8"), ("vector", ">f2", (DIMENSIONS,))])
    rows = np.frombuffer(data, element, offset=HEAD - LENGTH.size)["vector"].astype("<f2")
    return [row.tobytes() for row in rows]


def numpy_numbers(values: list[int]) -> bytes:
    """An int4[] by way of an array of two columns: sizes and values."""
    pairs = np.full((len(values), 2), 4, dtype=">i4")
    pairs[:, 1] = values
    return ARRAY.pack(1, 0, INT4, len(values), 1) + pairs.tobytes()


def half_element(vector: npt.NDArray[np.float32]) -> bytes:
    """One element of a halfvec[] straight from single precision."""
    body = vector.astype(">f2").tobytes()
    return LENGTH.pack(len(body) + HALFVEC.size) + HALFVEC.pack(len(vector), 0) + body


def write() -> Write:
    """A memory of one chunk as the service hands it to the store."""
    terms = tokenize(SENTENCE)
    text = Text(
        content=SENTENCE, content_hash=bytes(32), terms=terms.ids, term_counts=terms.counts,
        terms_version=TERMS_VERSION, model_id="model@0123456789abcdef", vectors=[STORED],
    )  # fmt: skip
    return Write(
        space=Space("default", "ana"), id=uuid.UUID(int=1), agent_id="assistant", text=text, importance=1.0,
        memory_type=MemoryType.SEMANTIC, visibility=Visibility.PRIVATE, tags=["drinks"], metadata={}, session_id=None,
        source=None, external_id=None, created_at=None, expires_at=None, ttl_seconds=None,
    )  # fmt: skip


def test_to_half(benchmark: BenchmarkFixture) -> None:
    """Single to half precision: to the index, and to the store."""
    benchmark.group = f"vector of {DIMENSIONS} to half precision"
    found = np.frombuffer(benchmark(to_half, VECTOR), "<f2")
    np.testing.assert_allclose(found.astype(np.float32), VECTOR, rtol=2**-11, atol=2**-25)


def test_to_element(benchmark: BenchmarkFixture) -> None:
    """From the half precision of the index into PostgreSQL's order of bytes."""
    benchmark.group = "vector to PostgreSQL"
    assert benchmark(halfvec_element, STORED) == half_element(VECTOR)


def test_to_element_by_numpy(benchmark: BenchmarkFixture) -> None:
    """From single precision in one step, for one who needs no other form."""
    benchmark.group = "vector to PostgreSQL"
    assert benchmark(half_element, VECTOR) == halfvec_element(STORED)


def test_load(benchmark: BenchmarkFixture) -> None:
    """A memory's vectors as a load of its space reads them."""
    benchmark.group = f"{CHUNKS} vectors from PostgreSQL"
    assert benchmark(HalfvecsLoader(HALFVEC_OID).load, COLUMN) == [STORED] * CHUNKS


def test_load_by_numpy(benchmark: BenchmarkFixture) -> None:
    """The same, of known dimensions."""
    benchmark.group = f"{CHUNKS} vectors from PostgreSQL"
    assert benchmark(numpy_column, COLUMN) == [STORED] * CHUNKS


def test_terms(benchmark: BenchmarkFixture) -> None:
    """Term ids of a long text as an int4[]."""
    benchmark.group = f"{len(IDS)} term ids to PostgreSQL"
    data = benchmark(number_array, INT4, "i", IDS)
    assert list(NUMBERS.iter_unpack(data[ARRAY.size :])) == [(4, value) for value in IDS]


def test_terms_by_numpy(benchmark: BenchmarkFixture) -> None:
    """The same through an array."""
    benchmark.group = f"{len(IDS)} term ids to PostgreSQL"
    assert benchmark(numpy_numbers, IDS) == number_array(INT4, "i", IDS)


def test_memory(benchmark: BenchmarkFixture) -> None:
    """All of a write of one sentence."""
    benchmark.group = "memory to PostgreSQL"
    found: Encoded = benchmark(encode, write())
    assert SENTENCE.encode() in found.fields
    assert found.vectors == [halfvec_element(STORED)]
