"""Which requests are the same."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from memex.model import MemoryChange, NewMemory, Target
from memex.service.keys import request_key
from memex.store import RequestKey

BASE: dict[str, Any] = {"agent_id": "assistant", "user_id": "ana", "content": "tea"}
MEMORY = UUID("019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a")


def key(*asked: msgspec.Struct) -> bytes:
    found = request_key("store", "k", *asked)
    assert found is not None
    return found.digest


def test_without_a_key_there_is_none():
    assert request_key("store", None, NewMemory(**BASE)) is None


def test_a_key_says_what_it_is_for():
    found = request_key("store", "k", NewMemory(**BASE))
    assert isinstance(found, RequestKey)
    assert (found.route, found.key, len(found.digest)) == ("store", "k", 32)


@pytest.mark.parametrize(
    "same",
    [
        {"importance": 1.0, "memory_type": "episodic", "tags": [], "metadata": {}, "session_id": None},
        {"on_duplicate": "keep", "visibility": "private", "embedding": None},
    ],
)
def test_what_is_left_out_is_as_good_as_its_default(same: dict[str, Any]):
    assert key(msgspec.convert(BASE | same, NewMemory)) == key(NewMemory(**BASE))


def test_the_order_of_names_is_nothing_and_that_of_lists_is():
    first, second = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert key(NewMemory(**BASE, metadata=first)) == key(NewMemory(**BASE, metadata=second))
    assert key(NewMemory(**BASE, tags=["a", "b"])) != key(NewMemory(**BASE, tags=["b", "a"]))


@pytest.mark.parametrize(
    "other",
    [
        {"content": "milk"}, {"content": "tea "}, {"user_id": "ben"}, {"importance": 1.5}, {"tags": ["a"]},
        {"metadata": {"a": None}}, {"metadata": {"a": 2**100}}, {"created_at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"ttl_seconds": 1}, {"external_id": "e"}, {"embedding": [0.5]}, {"on_duplicate": "return"},
    ],
    ids=str,
)  # fmt: skip
def test_every_field_counts(other: dict[str, Any]):
    assert key(NewMemory(**BASE | other)) != key(NewMemory(**BASE))


def test_a_change_is_of_one_memory_its_user_and_its_versions():
    asked = [
        (Target(MEMORY), MemoryChange(content="tea")),
        (Target(UUID(int=1)), MemoryChange(content="tea")),
        (Target(MEMORY, "ana"), MemoryChange(content="tea")),
        (Target(MEMORY, None, (1,)), MemoryChange(content="tea")),
        (Target(MEMORY, None, ()), MemoryChange(content="tea")),
        (Target(MEMORY), MemoryChange(tags=[])),
        (Target(MEMORY), MemoryChange(expires_at=None)),
    ]
    assert len({key(*one) for one in asked}) == len(asked)
