"""Answers that are given again are those of a ranking at that moment, bit by bit."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex.index import Ranker
from memex.model import Hit, Mode, Ranking
from tests.unit.index.rows import DAY, NOW, joined, ranker, row, rows, search, searches, single
from tests.unit.index.test_exact import noise_rows

HOUR = DAY // 24
# Until something expires, until it has, and so long that the order of scores changes.
STEPS = [0, 0, 1, HOUR, DAY, 300 * DAY, -1]


def at(asked: Ranking, now: int) -> Ranking:
    return msgspec.structs.replace(asked, now=now)


def answered(index: Ranker, asked: Ranking) -> tuple[list[Hit], bool]:
    """The hits, and whether they were kept ones."""
    kept = index.again(asked)
    return (index.rank(asked), False) if kept is None else (kept, True)


def some_space(seed: int = 1) -> Ranker:
    # Texts all differ, and none expires.
    noise = [
        msgspec.structs.replace(each, expires_at=None, content_hash=number.to_bytes(4, "big") * 8)
        for number, each in enumerate(noise_rows(seed, 1500, 8, ["a"]))
    ]
    return ranker(*noise, dimensions=8)


def some_search(seed: int = 0, **fields: Any) -> Ranking:
    query = np.random.default_rng(seed).normal(size=8)
    return search(vector=single(query / np.linalg.norm(query)), terms=[1, 3, 9], **fields)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_history_is_answered_as_without_kept_answers(data: st.DataObject) -> None:
    index, plain, now = Ranker(3), Ranker(3), NOW
    questions = data.draw(st.lists(searches(3), min_size=1, max_size=3))
    for _ in range(data.draw(st.integers(1, 4))):
        batch = data.draw(st.lists(rows(3), max_size=30))
        for each in (index, plain):
            each.apply(batch, [])
        if data.draw(st.booleans()):
            index.compact()
        for _ in range(data.draw(st.integers(1, 6))):
            now += data.draw(st.sampled_from(STEPS))
            asked = at(data.draw(st.sampled_from(questions)), now)
            assert answered(index, asked)[0] == plain.rank(asked)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(0, 2**32), st.sampled_from(list(Mode)), st.booleans())
def test_of_many_rows_too(data: st.DataObject, seed: int, mode: Mode, collapse: bool) -> None:
    kept = noise_rows(seed, 400, 8, ["a", "a", "b"])
    index, plain = ranker(*kept, dimensions=8), ranker(*kept, dimensions=8)
    asked = some_search(
        seed, mode=mode, collapse=collapse, half_life_days=data.draw(st.sampled_from([0.01, 1.0, 30.0]))
    )
    now = NOW
    for step in data.draw(st.lists(st.sampled_from([1, 20, HOUR, DAY, 30 * DAY]), min_size=4, max_size=12)):
        now += step
        assert answered(index, at(asked, now))[0] == plain.rank(at(asked, now))


@pytest.mark.parametrize("fields", [{}, {"collapse": True}, {"mode": Mode.SEMANTIC}, {"min_score": 0.5}, {"k": 100}])
def test_the_third_time_it_is_kept_and_stays_so_for_days(fields: dict[str, Any]) -> None:
    index, plain, asked = some_space(), some_space(), some_search(**fields)
    told = [answered(index, at(asked, NOW + day * DAY)) for day in range(6)]
    assert [kept for _, kept in told] == [False, False, True, True, True, True]
    assert [hits for hits, _ in told] == [plain.rank(at(asked, NOW + day * DAY)) for day in range(6)]


def test_another_question_has_another_answer() -> None:
    index, asked = some_space(), some_search()
    for _ in range(3):
        answered(index, asked)
    for other in ({"alpha": 0.6}, {"k": 9}, {"tags_any": ("t",)}, {"include_archived": True}, {"half_life_days": 29.0}):
        assert index.again(msgspec.structs.replace(asked, **other)) is None
    assert index.again(msgspec.structs.replace(asked, scope=search("b").scope)) is None
    assert index.again(some_search(5)) is None
    assert index.again(asked) == index.rank(asked)


@pytest.mark.parametrize(
    "change", [lambda index: index.apply([row(7, vectors=[])], []), lambda index: index.apply([], [bytes(16)])]
)
def test_with_a_change_it_is_forgotten(change) -> None:
    index, asked = some_space(), some_search()
    assert [answered(index, asked)[1] for _ in range(3)] == [False, False, True]
    change(index)
    assert [answered(index, asked)[1] for _ in range(3)] == [False, False, True]


def test_it_lasts_until_a_row_expires_and_does_not_go_back() -> None:
    index = some_space()
    index.apply([row(5, vectors=[], terms=[1, 3, 9], expires_at=NOW + 10)], [])
    asked = some_search(mode=Mode.KEYWORD)
    assert [answered(index, at(asked, NOW + 1))[1] for _ in range(3)] == [False, False, True]
    assert index.again(at(asked, NOW)) is None
    assert index.again(at(asked, NOW + 9)) == index.rank(at(asked, NOW + 9))
    assert index.again(at(asked, NOW + 10)) is None
    assert bytes(15) + b"\x05" not in {hit.id for hit in index.rank(at(asked, NOW + 10))}


def test_rows_that_are_all_alike_are_ranked_each_time() -> None:
    index = ranker(*(row(number, created_at=NOW) for number in range(1, 200)))
    assert not any(answered(index, search())[1] for _ in range(4))
    assert answered(index, search())[0] == index.rank(search())


@pytest.mark.parametrize("fields", [{"k": 101}, {"only": joined(range(1, 20))}])
def test_what_is_large_is_not_kept(fields: dict[str, Any]) -> None:
    index, asked = some_space(), some_search(**fields)
    assert not any(answered(index, asked)[1] for _ in range(4))


def test_so_many_are_kept_as_there_is_room_for_and_the_room_is_counted() -> None:
    index = some_space()
    before = index.bytes
    for number in range(100):
        for _ in range(2):
            answered(index, some_search(number))
    kept = [number for number in range(100) if index.again(some_search(number)) is not None]
    assert kept == list(range(100 - len(kept), 100))
    assert 20 < len(kept) < 60
    assert index.bytes == before


def test_an_answer_that_there_is_no_room_for_is_not_kept() -> None:
    index = some_space()
    asked = search("a", *(f"{number:040}" for number in range(3000)), vector=single([1] + [0] * 7))
    assert not any(answered(index, asked)[1] for _ in range(4))


def test_one_text_asked_in_several_forms_has_an_answer_for_each() -> None:
    index = some_space()
    others: list[dict[str, Any]] = [{}, {"mode": Mode.SEMANTIC}, {"tags_any": ("t",)}, {"min_score": 0.3}, {"k": 11}]
    forms = [some_search(**fields) for fields in others]
    told = [[answered(index, form)[1] for form in forms] for _ in range(4)]
    assert told == [[False] * 5, [False] * 5, [True] * 5, [True] * 5]


def test_a_faulty_question_is_refused() -> None:
    with pytest.raises(ValueError, match="dimensions"):
        some_space().again(search(vector=single([1, 0, 0])))
