"""Whether a service under load answers right: a run with wrong answers has no figures.

The truth is what the service itself acknowledged. While the load runs, answers are kept; afterwards the kept ones are
held against it, and the service is asked again for what nobody else writes to any more.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import click
import msgspec

from bench.load.client import Connection
from bench.load.workload import TOP_K

PROBES = 20
ROUNDING = 1.1e-4
"""Scores within 1e-5 are a tie that the newer memory wins, and are shown with four digits: one step, and no more."""

Body = Mapping[str, Any]
Kept = tuple[Body, bytes]
"""A search as it was asked, and its answer."""
Pair = tuple[str, str]
"""Agent and user."""


class WrongAnswer(click.ClickException):
    """The measurement is void."""


class Hit(msgspec.Struct, frozen=True):
    """What every service says of a hit."""

    id: str
    agent_id: str
    user_id: str
    content: str
    score: float


class Found(msgspec.Struct, frozen=True):
    """The answer to a search."""

    results: list[Hit]


class Count(msgspec.Struct, frozen=True):
    """The answer to a count."""

    count: int


class Truth:
    """What was written for each agent and user."""

    def __init__(self, seeded: Iterable[Body]) -> None:
        """`seeded` is stored already."""
        self._stored: defaultdict[Pair, list[str]] = defaultdict(list)
        self._unsure: defaultdict[Pair, list[str]] = defaultdict(list)
        for body in seeded:
            self.wrote(body, acknowledged=True)

    def wrote(self, body: Body, *, acknowledged: bool) -> None:
        """One more write. What was not acknowledged may be there or not."""
        (self._stored if acknowledged else self._unsure)[pair_of(body)].append(body["content"])

    def pairs(self) -> list[Pair]:
        """Whose memories are known."""
        return list(self._stored)

    def stored(self, pair: Pair) -> list[str]:
        """The acknowledged texts, the latest last."""
        return self._stored[pair]

    def possible(self, pair: Pair) -> set[str]:
        """The texts that a hit may have."""
        return {*self._stored[pair], *self._unsure[pair]}

    def counts(self, pair: Pair) -> range:
        """How many memories there may be."""
        least = len(self._stored[pair])
        return range(least, least + len(self._unsure[pair]) + 1)


def pair_of(body: Body) -> Pair:
    """Whom a request is for."""
    return body["agent_id"], body["user_id"]


def hits_of(asked: Body, answer: bytes) -> list[Hit]:
    """The hits of an answer that is right as far as it alone can tell. Seeding gives everyone as many as are asked."""
    hits = msgspec.json.decode(answer, type=Found).results
    if len(hits) != asked["top_k"]:
        raise WrongAnswer(f"a search gave {len(hits)} of {asked['top_k']} hits; are the memories seeded?")
    if any(later.score > earlier.score + ROUNDING for earlier, later in pairwise(hits)):
        raise WrongAnswer("hits are not in the order of their scores")
    if len({hit.id for hit in hits}) != len(hits):
        raise WrongAnswer("a memory is two hits of one search")
    if any((hit.agent_id, hit.user_id) != pair_of(asked) for hit in hits):
        raise WrongAnswer("a search found a memory of somebody else")
    return hits


def check(asked: Body, answer: bytes, truth: Truth) -> list[Hit]:
    """The hits, all of them texts that were written there; where there are no more than asked, each of them."""
    hits, pair = hits_of(asked, answer), pair_of(asked)
    contents, possible = {hit.content for hit in hits}, truth.possible(pair)
    if not contents <= possible:
        raise WrongAnswer("a search found a text that was never written there")
    if truth.counts(pair)[-1] <= asked["top_k"] and contents != possible:
        raise WrongAnswer("a search did not find every memory although it asked for as many as there are")
    return hits


async def verify(url: str, truth: Truth, kept: list[Kept]) -> int:
    """Holds everything kept against the truth, then probes the idle service; how many answers were looked at."""
    for asked, answer in kept:
        check(asked, answer, truth)
    chosen = random.Random(0).sample(kept, min(PROBES, len(kept)))
    pairs = truth.pairs()
    some = pairs[:: max(1, len(pairs) // PROBES)]
    async with await Connection.open(url) as connection:
        for asked, _ in chosen:
            await probe_order(connection, asked, truth)
        for pair in pairs:
            await probe_count(connection, pair, truth)
        for pair in some:
            await probe_own_text(connection, pair, truth)
    return len(kept) + len(chosen) + len(pairs) + len(some)


async def probe_order(connection: Connection, asked: Body, truth: Truth) -> None:
    """The same question twice has the same hits in the same order."""
    first, second = [await search(connection, asked, truth) for _ in range(2)]
    if [hit.id for hit in first] != [hit.id for hit in second]:
        raise WrongAnswer("the same search gave two orders")


async def probe_own_text(connection: Connection, pair: Pair, truth: Truth) -> None:
    """A search by the latest text that was stored there, by relevance alone, has it on top."""
    text = truth.stored(pair)[-1]
    asked = {"agent_id": pair[0], "user_id": pair[1], "query": text, "top_k": TOP_K, "alpha": 1.0}
    hits = await search(connection, asked, truth)
    if hits[0].content != text:
        raise WrongAnswer("a search by a memory's own text does not find it on top")


async def probe_count(connection: Connection, pair: Pair, truth: Truth) -> None:
    """As many memories are counted as were acknowledged."""
    counted = await counted_of(connection, pair)
    if counted not in truth.counts(pair):
        raise WrongAnswer(f"{len(truth.stored(pair))} memories were acknowledged, {counted} are counted")


async def counted_of(connection: Connection, pair: Pair) -> int:
    """How many memories the service says there are."""
    query = urlencode({"agent_id": pair[0], "user_id": pair[1]})
    status, answer = await connection.get(f"/v1/memories/count?{query}")
    if status != 200:
        raise WrongAnswer(f"a count gave {status}: {answer[:200]!r}")
    return msgspec.json.decode(answer, type=Count).count


async def search(connection: Connection, asked: Body, truth: Truth) -> list[Hit]:
    """One search, checked."""
    status, answer = await connection.post("/v1/memories/search", msgspec.json.encode(asked))
    if status != 200:
        raise WrongAnswer(f"a search gave {status}: {answer[:200]!r}")
    return check(asked, answer, truth)
