import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.embedder.encoder import Role
from memex.embedder.lanes import PATIENCE, Lanes, Work

Q, P = Role.QUERY, Role.PASSAGE


class Waiter:
    """As much of a future as the lanes look at."""

    def __init__(self) -> None:
        self.gone = False

    def done(self) -> bool:
        return self.gone


def work(role: Role = Q, tokens: int = 5) -> Any:
    waiter: Any = Waiter()
    return Work(role, [0] * tokens, waiter, 0.0)


def lanes(*works: Work, ragged: bool = False) -> Lanes:
    made = Lanes(ragged)
    made.add(works)
    return made


def test_nothing_waits():
    assert lanes().take(100) == []
    assert (len(lanes()), lanes().tokens) == (0, 0)


def test_searches_go_before_writes_that_came_first():
    write, search = work(P), work(Q)
    queue = lanes(write, search)
    assert queue.take(100) == [search]
    assert queue.take(100) == [write]


def test_a_batch_is_one_length_in_order_of_arrival():
    works = [work(tokens=n) for n in (5, 7, 5, 9, 5, 7)]
    queue = lanes(*works)
    assert queue.take(100) == [works[0], works[2], works[4]]
    assert queue.take(100) == [works[1], works[5]]
    assert queue.take(100) == [works[3]]


def test_a_ragged_batch_mixes_lengths():
    works = [work(tokens=n) for n in (5, 7, 5)]
    assert lanes(*works, ragged=True).take(100) == works


def test_the_budget_bounds_a_batch_and_a_longer_text_goes_alone():
    long, *short = [work(tokens=n) for n in (50, 5, 5, 5)]
    queue = lanes(long, *short, ragged=True)
    assert queue.take(10) == [long]
    assert queue.take(14) == short[:2]
    assert queue.take(14) == short[2:]


def test_writes_that_wait_are_passed_over_only_so_often():
    queue = lanes(*(work(P) for _ in range(2)), *(work(Q) for _ in range(40)))
    roles = [queue.take(5)[0].role for _ in range(12)]
    assert roles == ([Q] * PATIENCE + [P]) * 2 + [Q] * 2


def test_a_write_that_finds_no_searches_does_not_use_up_its_patience():
    queue = lanes(work(P))
    assert queue.take(5)[0].role is P
    queue.add([work(P), *(work(Q) for _ in range(PATIENCE + 1))])
    assert [queue.take(5)[0].role for _ in range(PATIENCE + 1)] == [Q] * PATIENCE + [P]


def test_those_whose_caller_has_gone_are_dropped():
    works = [work() for _ in range(3)]
    queue = lanes(*works)
    works[0].future.gone = works[1].future.gone = True
    assert queue.tokens == 15
    assert queue.take(5) == [works[2]]
    assert queue.tokens == 0


def test_prune_takes_the_gone_off_the_estimate():
    works = [work(P), work(Q)]
    queue = lanes(*works)
    works[0].future.gone = True
    queue.prune()
    assert (queue.ahead(Q), queue.ahead(P), len(queue)) == (5, 5, 1)


def test_only_searches_go_before_a_search():
    queue = lanes(work(P, 30), work(Q, 7))
    assert (queue.ahead(Q), queue.ahead(P)) == (7, 37)


def test_clear_gives_back_everything():
    works = [work(Q), work(P)]
    queue = lanes(*works)
    assert queue.clear() == works
    assert (len(queue), queue.tokens) == (0, 0)


@given(
    st.lists(st.tuples(st.sampled_from([Q, P]), st.integers(1, 12), st.booleans()), max_size=40),
    st.integers(1, 40),
    st.booleans(),
)
def test_each_living_text_is_taken_exactly_once_in_the_order_of_its_length_and_role(entries, budget, ragged):
    works = []
    for role, tokens, gone in entries:
        works.append(work(role, tokens))
        works[-1].future.gone = gone
    queue, taken = lanes(*works, ragged=ragged), []
    while batch := queue.take(budget):
        lengths = [len(each.tokens) for each in batch]
        assert sum(lengths) <= budget or len(batch) == 1
        assert ragged or len(set(lengths)) == 1
        assert len({each.role for each in batch}) == 1
        taken += batch
    assert sorted(map(id, taken)) == sorted(id(each) for each in works if not each.future.gone)
    for role, length in {(each.role, len(each.tokens)) for each in works}:
        alike = [each for each in works if (each.role, len(each.tokens), each.future.gone) == (role, length, False)]
        assert [each for each in taken if each in alike] == alike
    assert (len(queue), queue.tokens) == (0, 0)


async def test_a_future_of_the_event_loop_is_such_a_waiter():
    future = asyncio.get_running_loop().create_future()
    queue = lanes(Work(Q, [0], future, 0.0))
    future.cancel()
    assert queue.take(10) == []


@pytest.mark.parametrize("role", list(Role))
def test_tokens_are_counted_per_role(role):
    assert lanes(work(role, 3), work(role, 4)).tokens == 7
