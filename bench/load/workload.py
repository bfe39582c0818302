"""Who asks and writes what, in the shape of the reference's load test, with three kinds of texts.

20 agents × 10 users × 5 memories to begin with. Each virtual user keeps one agent and one user of them. Searches
ask for 5 with alpha 0.7; writes are episodic or semantic, of an importance from 0.5 to 1.5.
"""

import random
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import accumulate

from bench.load.sentences import QUERIES, QUESTION, STATEMENT, TEXTS, Pattern

AGENTS = [f"load-agent-{number:03}" for number in range(20)]
USERS = [f"load-user-{number:03}" for number in range(10)]
TEXTS_PER_PAIR = 5
TOP_K = 5
ALPHA = 0.7
STREAMS = 1_024
ZIPF_POOL = 10_000
DRAWN_AT_ONCE = 256


class Texts(StrEnum):
    """Which texts a load uses."""

    REPEATED = "repeated"
    """The 15 texts and 8 questions of the reference's shape: an embedding cache always hits."""
    UNIQUE = "unique"
    """No text twice: an embedding cache never hits."""
    ZIPF = "zipf"
    """Of a pool of 10,000 the n-th with a probability proportional to 1/n (exponent 1.0)."""


def seed_writes(seed: int = 0) -> Iterator[dict[str, object]]:
    """The 1,000 writes before a run: five distinct texts for each agent and user."""
    chooser = random.Random(seed)
    for agent in AGENTS:
        for user in USERS:
            for text in chooser.sample(TEXTS, TEXTS_PER_PAIR):
                yield write(agent, user, text, chooser)


def searches(texts: Texts, seed: int) -> Iterator[dict[str, object]]:
    """The searches of the virtual user of that number, 0 … 1,023; without end but for some 400,000 unique texts."""
    agent, user = pair(seed)
    for query in drawn(texts, QUERIES, QUESTION, seed):
        yield {"agent_id": agent, "user_id": user, "query": query, "top_k": TOP_K, "alpha": ALPHA}


def writes(texts: Texts, seed: int) -> Iterator[dict[str, object]]:
    """The writes of the virtual user of that number, who keeps the agent and the user of its searches."""
    agent, user = pair(seed)
    chooser = random.Random(f"writes {seed}")
    for text in drawn(texts, TEXTS, STATEMENT, seed):
        yield write(agent, user, text, chooser)


def pair(seed: int) -> tuple[str, str]:
    """The agent and the user that a virtual user keeps."""
    chooser = random.Random(seed)
    return chooser.choice(AGENTS), chooser.choice(USERS)


def write(agent: str, user: str, text: str, chooser: random.Random) -> dict[str, object]:
    """The body of one write."""
    return {
        "agent_id": agent,
        "user_id": user,
        "content": text,
        "importance": round(chooser.uniform(0.5, 1.5), 2),
        "memory_type": chooser.choice(("episodic", "semantic")),
    }


def drawn(texts: Texts, few: Sequence[str], pattern: Pattern, seed: int) -> Iterator[str]:
    """The texts of one virtual user: of `few`, or of the pattern."""
    if texts is Texts.UNIQUE:
        if not 0 <= seed < STREAMS:
            raise ValueError(f"a virtual user's number is 0 to {STREAMS - 1}, not {seed}: its texts would repeat")
        return map(pattern.text, range(seed, pattern.size, STREAMS))
    chooser = random.Random(f"{texts} {seed}")
    if texts is Texts.ZIPF:
        return zipf(pool(pattern), chooser)
    return iter(lambda: chooser.choice(few), None)


def zipf(ranked: Sequence[str], chooser: random.Random) -> Iterator[str]:
    """Endless draws of `ranked`, the n-th with a probability proportional to 1/n."""
    weights = harmonic(len(ranked))
    while True:
        yield from chooser.choices(ranked, cum_weights=weights, k=DRAWN_AT_ONCE)


@cache
def harmonic(ranks: int) -> list[float]:
    """1/1 + … + 1/n for each n up to `ranks`."""
    return list(accumulate(1 / rank for rank in range(1, ranks + 1)))


@cache
def pool(pattern: Pattern) -> Sequence[str]:
    """The texts of a Zipf load, the most frequent first."""
    return [pattern.text(index) for index in range(ZIPF_POOL)]
