"""Connections of their own beside a load: they look at whole answers, a few each second; a wrong one ends the run."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec

from bench.load.answers import Body, WrongAnswer, hits_of
from bench.load.client import Connection

CONNECTIONS = 4
"""So that slow answers do not leave only few to look at."""
PAUSE = 1.0
"""Seconds from an answer to the next question."""
NAME = "probe"
REFUSALS = frozenset({429, 503})


class Seen(msgspec.Struct):
    """What the probe saw."""

    checked: int = 0
    """Answers that were right."""
    refused: int = 0
    without_retry_after: int = 0
    """Refusals that did not say when to come back."""

    @property
    def asked(self) -> int:
        """All that it asked."""
        return self.checked + self.refused


@asynccontextmanager
async def probing(url: str, questions: Iterator[Body]) -> AsyncIterator[Seen]:
    """Asks one question after the other while the body runs. WrongAnswer at its end if one was wrong, or none came."""
    seen = Seen()
    connections = [await Connection.open(url) for _ in range(CONNECTIONS)]
    tasks = [asyncio.create_task(ask(connection, questions, seen), name=NAME) for connection in connections]
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for connection in connections:
            await connection.close()
    for error in ended:
        if isinstance(error, Exception):
            raise error
    if not seen.asked:
        raise WrongAnswer("no answer was looked at: the load was too short")


async def ask(connection: Connection, questions: Iterator[Body], seen: Seen) -> None:
    """Until cancelled."""
    for body in questions:
        status, answer = await connection.post("/v1/memories/search", msgspec.json.encode(body))
        if status in REFUSALS:
            seen.refused += 1
            seen.without_retry_after += b"\r\nretry-after:" not in connection.head.lower()
        elif status == 200:
            hits_of(body, answer)
            seen.checked += 1
        else:
            raise WrongAnswer(f"a search gave {status}: {answer[:200]!r}")
        await asyncio.sleep(PAUSE)
