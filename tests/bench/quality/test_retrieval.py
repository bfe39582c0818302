"""What of an answer is believed, and what ends a run."""

import asyncio

import pytest

from bench.quality.dataset import Memory
from bench.quality.retrieval import Answer, answer, shortened, spread
from bench.quality.services.dialect import Hit, Traits, WrongAnswer

NAMES = {"a": ["first", "second"], "b": ["third"], "c": ["fourth"]}
EXACT = Traits(name="exact")


def hits(*scores: float, ids: str = "abcdef") -> list[Hit]:
    return [Hit(id_, score) for id_, score in zip(ids, scores, strict=False)]


def test_an_id_stands_for_every_item_that_it_was_given_for():
    assert answer(hits(0.9, 0.8), NAMES, 2, EXACT) == Answer(["first", "second"], 0.9, False)
    assert answer(hits(0.9, 0.8, 0.7), NAMES, 10, EXACT).ranked == ["first", "second", "third", "fourth"]


def test_an_unknown_id_ends_the_run():
    with pytest.raises(WrongAnswer, match="exact gave x, which was not stored"):
        answer(hits(0.9, 0.8, ids="ax"), NAMES, 2, EXACT)


def test_too_few_hits_end_the_run_unless_the_service_promises_none():
    with pytest.raises(WrongAnswer, match="gave 2 different hits of 3"):
        answer(hits(0.9, 0.8), NAMES, 10, EXACT)
    with pytest.raises(WrongAnswer, match="gave 1 different hits of 2"):
        answer(hits(0.9, 0.8, ids="aa"), NAMES, 2, EXACT)
    assert answer(hits(0.9), NAMES, 10, Traits(name="some", complete=False)).short
    assert answer([], NAMES, 10, Traits(name="some", complete=False)) == Answer([], None, True)


def test_a_user_without_memories_gets_nothing():
    assert answer([], {}, 10, EXACT) == Answer([], None, False)


def test_hits_out_of_order_end_the_run_but_for_ties():
    tied = Traits(name="tied", tie=1e-4)
    with pytest.raises(WrongAnswer, match="not in the order of their scores"):
        answer(hits(0.2047, 0.2048, 0.1), NAMES, 10, EXACT)
    assert not answer(hits(0.2047, 0.2048, 0.1), NAMES, 10, tied).short
    with pytest.raises(WrongAnswer, match="not in the order"):
        answer(hits(0.2047, 0.2049, 0.1), NAMES, 10, tied)


def test_a_text_is_cut_to_what_the_service_takes():
    memory = Memory("m", "u", "x" * 9)
    assert shortened(memory, 4).text == "xxxx"
    assert shortened(memory, None) is not None
    assert shortened(memory, None).text == memory.text


async def test_results_keep_the_order_of_the_items_whichever_is_done_first():
    """Each even one waits until the odd one after it is done."""
    done = [asyncio.Event() for _ in range(20)]

    async def work(number: int) -> int:
        if number % 2 == 0:
            await done[number + 1].wait()
        done[number].set()
        return number * number

    assert await spread(range(20), work, "squares") == [number * number for number in range(20)]


async def test_the_first_wrong_answer_ends_everything():
    async def work(number: int) -> int:
        if number == 3:
            raise WrongAnswer("three")
        await asyncio.sleep(0)
        return number

    with pytest.raises(WrongAnswer, match="three"):
        await spread(range(100), work, "numbers")
