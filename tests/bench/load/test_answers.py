"""Each way of being wrong is seen."""

from itertools import islice

import msgspec
import pytest

from bench.load.answers import Kept, Truth, WrongAnswer, check, verify
from bench.load.client import Connection, call
from bench.load.workload import Texts, searches, seed_writes
from tests.bench.load.service import Memories, service

SEEDED = list(islice(seed_writes(), 25))
ASKED = next(searches(Texts.REPEATED, 0)) | {name: SEEDED[0][name] for name in ("agent_id", "user_id")}


def answered(fault: str) -> bytes:
    """A search of a service that has it."""
    memories = Memories(fault)
    for body in SEEDED:
        memories.store(body)
    return msgspec.json.encode(memories.search(ASKED))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("too few", "4 of 5"),
        ("upside down", "order of their scores"),
        ("one twice", "two hits"),
        ("of others", "somebody else"),
        ("invented", "never written"),
        ("repeats a text", "every memory"),
    ],
)
def test_an_answer_is_wrong_in_itself(fault: str, reason: str):
    with pytest.raises(WrongAnswer, match=reason):
        check(ASKED, answered(fault), Truth(SEEDED))


def test_a_right_answer_is_every_text_where_there_are_five():
    contents = {hit.content for hit in check(ASKED, answered(""), Truth(SEEDED))}
    assert contents == {body["content"] for body in SEEDED[:5]}


async def verified(fault: str) -> int:
    """How many answers of a service were looked at."""
    with service(fault) as url:
        async with await Connection.open(url) as connection:
            for body in SEEDED:
                await call(connection, "/v1/memories", body)
        kept: list[Kept] = [(ASKED, answered(""))]
        return await verify(url, Truth(SEEDED), kept)


async def test_all_kept_answers_and_probes_are_counted():
    kept, asked_twice, counted, own_texts = 1, 1, 5, 5
    assert await verified("") == kept + asked_twice + counted + own_texts


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("wavers", "two orders"),
        ("worst first", "own text"),
        ("miscounts", "5 memories were acknowledged, 4"),
        ("refuses", "503"),
    ],
)
async def test_a_service_is_wrong_when_asked_again(fault: str, reason: str):
    with pytest.raises(WrongAnswer, match=reason):
        await verified(fault)


def test_a_write_that_was_not_acknowledged_may_be_there_or_not():
    truth, pair = Truth(SEEDED), ("load-agent-000", "load-user-000")
    truth.wrote(SEEDED[0] | {"content": "Perhaps"}, acknowledged=False)
    assert truth.counts(pair) == range(5, 7)
    assert truth.possible(pair) == {*truth.stored(pair), "Perhaps"}
    assert "Perhaps" not in truth.stored(pair)
