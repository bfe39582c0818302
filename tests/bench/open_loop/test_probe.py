"""A wrong answer during a load ends the run; a refusal is looked at too."""

import asyncio

import msgspec
import pytest

from bench.load import probe
from bench.load.answers import WrongAnswer
from bench.load.probe import CONNECTIONS, Seen, probing
from tests.bench.open_loop.stalling import Stalling, listening

ASKED = {"agent_id": "a", "user_id": "u", "query": "Where?", "top_k": 2}
SOON = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
NEVER = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"


def hits(*scores: float, user: str = "u") -> bytes:
    found = [
        {"id": str(n), "agent_id": "a", "user_id": user, "content": "There.", "score": score}
        for n, score in enumerate(scores)
    ]
    body = msgspec.json.encode({"results": found, "query": "Where?", "total": len(found)})
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def seen_of(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What the probe saw of a server that always gives `answer`; one question for each connection."""
    monkeypatch.setattr(probe, "PAUSE", 0)
    async with listening(Stalling(0.0, answer)) as url, asyncio.timeout(20):
        async with probing(url, iter([ASKED] * CONNECTIONS)) as seen:
            await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == probe.NAME])
        return seen


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (hits(0.9, 0.9), Seen(checked=CONNECTIONS)),
        (SOON, Seen(refused=CONNECTIONS)),
        (NEVER, Seen(refused=CONNECTIONS, without_retry_after=CONNECTIONS)),
    ],
    ids=["right", "refused", "refused for ever"],
)
async def test_what_is_seen_is_counted(answer: bytes, seen: Seen, monkeypatch: pytest.MonkeyPatch):
    assert await seen_of(answer, monkeypatch) == seen


@pytest.mark.parametrize(
    "answer",
    [hits(0.9), hits(0.8, 0.9), hits(0.9, 0.8, user="other"), BROKEN],
    ids=["too few", "order", "somebody else", "status"],
)
async def test_a_wrong_answer_ends_the_run(answer: bytes, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(WrongAnswer):
        await seen_of(answer, monkeypatch)


async def test_a_load_during_which_nothing_was_looked_at_is_void():
    async with listening(Stalling(0.0)) as url:
        with pytest.raises(WrongAnswer, match="too short"):
            async with probing(url, iter([])):
                pass
