"""Rows and searches to rank, with what a test does not care about filled in."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from memex import _native
from memex.index import Ranker
from memex.model import IndexRow, MemoryType, Mode, Ranking, Scope, Terms

NOW = 1_760_000_000_000_000
DAY = 86_400_000_000


def available(isa: str) -> bool:
    try:
        _native.SpaceIndex(1, isa)
    except ValueError:
        return False
    return True


ISAS = [isa for isa in ("scalar", "avx2", "avx512") if available(isa)]


def joined(numbers: Iterable[int]) -> bytes:
    """The ids of rows, as a search takes them."""
    return b"".join(row(number).id for number in sorted(numbers))


def half(values: Any) -> bytes:
    return np.asarray(values, "<f2").tobytes()


def single(values: Any) -> npt.NDArray[np.float32]:
    return np.asarray(values, np.float32)


def row(number: int, **fields: Any) -> IndexRow:
    text = fields.pop("text", str(number))
    plain: dict[str, Any] = {
        "id": number.to_bytes(16, "big"),
        "agent_id": "a",
        "memory_type": "episodic",
        "visibility": "private",
        "state": "active",
        "tags": [],
        "session_id": None,
        "source": None,
        "content_hash": hashlib.sha256(text.encode()).digest(),
        "importance": 1.0,
        "created_at": NOW - number * DAY,
        "expires_at": None,
        "terms": [],
        "term_counts": [1] * len(fields.get("terms", [])),
        "vectors": [half([1, 0])],
    }
    return IndexRow(**{**plain, **fields})


def search(agent: str = "a", *others: str, **fields: Any) -> Ranking:
    """A search of `agent`, to whom those `others` share; "*" is everybody."""
    terms = fields.pop("terms", [])
    plain: dict[str, Any] = {
        "scope": Scope("default", agent, None if others == ("*",) else others),
        "mode": Mode.HYBRID,
        "vector": single([1, 0]),
        "terms": Terms(ids=terms, counts=fields.pop("counts", [1] * len(terms))),
        "k": 10,
        "alpha": 0.7,
        "half_life_days": 30.0,
        "importance_weight": 0.1,
        "floor": 0.0,
        "ceiling": 1.0,
        "now": NOW,
    }
    return Ranking(**{**plain, **fields})


def ranker(*rows: IndexRow, dimensions: int = 2, isa: str = "auto") -> Ranker:
    made = Ranker(dimensions, isa)
    made.apply(rows, [])
    return made


def numbers(hits: list[Any]) -> list[int]:
    return [int.from_bytes(hit.id, "big") for hit in hits]


# Components whose products and sums are exact in single precision, so that ties are the same ties everywhere.
EXACT = [0.0, 0.0, 0.25, -0.25, 0.5, 1.0]
TERMS = [-(2**31), -5, 0, 1, 2, 2**31 - 1]
TIMES = [NOW + 3 * DAY, NOW, NOW - 1, NOW - DAY, NOW - 30 * DAY, NOW - 20_000 * DAY, -NOW]


# The same word may be a tag, a session and a source; one is a prefix of another, one is no ASCII.
TAGS = ["test", "testing", "s", "茶", ""]


def vectors(dimensions: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(EXACT), min_size=dimensions, max_size=dimensions)


@st.composite
def rows(draw: st.DrawFn, dimensions: int) -> IndexRow:
    terms = sorted(draw(st.sets(st.sampled_from(TERMS))))
    return row(
        draw(st.integers(0, 40)),
        text=draw(st.sampled_from("stuvw")),
        agent_id=draw(st.sampled_from("abc")),
        memory_type=draw(st.sampled_from(list(MemoryType))).value,
        visibility=draw(st.sampled_from(["private", "shared"])),
        state=draw(st.sampled_from(["active"] * 6 + ["archived", "superseded"])),
        tags=draw(st.lists(st.sampled_from(TAGS), max_size=3)),
        session_id=draw(st.sampled_from([None, "s", "t"])),
        source=draw(st.sampled_from([None, "s", "chat"])),
        importance=draw(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-5, 1.0 + 5e-5, 2.0])),
        created_at=draw(st.sampled_from(TIMES)),
        expires_at=draw(st.sampled_from([None, None, None, NOW - 1, NOW, NOW + 1])),
        terms=terms,
        term_counts=[draw(st.integers(1, 3)) for _ in terms],
        vectors=[half(draw(vectors(dimensions))) for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3])))],
    )


@st.composite
def searches(draw: st.DrawFn, dimensions: int) -> Ranking:
    terms = sorted(draw(st.sets(st.sampled_from([*TERMS, 77]))))
    return search(
        *draw(st.sampled_from([*"abc", "nobody"])),
        *draw(st.sampled_from([(), (), ("*",), ("b",), ("a",), ("c", "a", "b", "c"), ("nobody",)])),
        mode=draw(st.sampled_from(list(Mode))),
        vector=single(draw(vectors(dimensions))),
        terms=terms,
        counts=[draw(st.integers(1, 3)) for _ in terms],
        k=draw(st.sampled_from([1, 2, 3, 10, 50])),
        alpha=draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])),
        half_life_days=draw(st.sampled_from([1e-3, 1.0, 30.0, 36_500.0])),
        importance_weight=draw(st.sampled_from([0.0, 0.1, 1.0])),
        floor=draw(st.sampled_from([-1.0, 0.0, 0.7])),
        ceiling=draw(st.sampled_from([0.95, 1.0])),
        min_score=draw(st.sampled_from([None, None, 0.0, 0.3, 5.0])),
        types=draw(st.sampled_from([None, None, (), *((one,) for one in MemoryType), (*MemoryType,)])),
        created_after=draw(st.sampled_from([None, None, NOW - DAY])),
        created_before=draw(st.sampled_from([None, None, NOW])),
        collapse=draw(st.booleans()),
        include_archived=draw(st.sampled_from([False, False, True])),
        tags_any=draw(st.sampled_from([None, None, None, ("test",), ("testing", "s", "unknown"), ("unknown",), ()])),
        tags_all=draw(st.sampled_from([None, None, None, ("test",), ("s", "test"), ("s", "unknown"), ()])),
        session_id=draw(st.sampled_from([None, None, None, "s", "unknown"])),
        source=draw(st.sampled_from([None, None, None, "s", "unknown"])),
        only=draw(st.none() | st.none() | st.sets(st.integers(0, 41), max_size=30).map(joined)),
    )
