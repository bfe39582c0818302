"""Identifiers of the service's own making."""

import time
import uuid

import pytest

from memex.service.ids import uuid7


def stamp(made: uuid.UUID) -> int:
    return made.int >> 80


def test_they_are_version_7_of_the_standard_variant():
    for _ in range(1_000):
        made = uuid7()
        assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_they_tell_the_millisecond_they_were_made_in():
    before = time.time_ns() // 1_000_000
    made = uuid7()
    assert before <= stamp(made) <= time.time_ns() // 1_000_000


def test_they_sort_by_time_as_text_and_as_bytes(monkeypatch: pytest.MonkeyPatch):
    made = []
    for millisecond in (0, 1, 255, 256, 1_760_000_000_000, 2**48 - 1):
        monkeypatch.setattr("memex.service.ids.time.time_ns", lambda at=millisecond: at * 1_000_000)
        made.append(uuid7())
        assert stamp(made[-1]) == millisecond
    assert made == sorted(made, key=str) == sorted(made, key=lambda one: one.bytes)


def test_the_rest_is_random():
    made = [uuid7().int for _ in range(20_000)]
    assert len(set(made)) == len(made)
    # Each of the 74 random bits is on about half of the time: 20 standard deviations are never left by chance.
    fixed = (0xF << 76) | (0x3 << 62)
    for bit in (bit for bit in range(80) if not fixed >> bit & 1):
        assert 8_500 < sum(one >> bit & 1 for one in made) < 11_500
