"""Rate limits as clients of the reference know them. The minute is the test's: nothing here waits."""

import asyncio
import re
from functools import partial

import httpx
import pytest

from memex.app import parts
from memex.service import Limiter
from memex.settings import Limits
from tests.behaviour.asking import ANA, ask, count, search, store
from tests.fixtures.app import Run

MINUTE = 29_000_000 * 60
WRITTEN = "Write rate limit exceeded ({} writes this minute). Retry in the next minute."
SEARCHED = "Search rate limit exceeded ({} searches this minute)."


class Clock:
    """Epoch seconds, by default 17 and a half before the minute ends."""

    def __init__(self) -> None:
        self.now = MINUTE + 42.5

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(parts, "Limiter", partial(Limiter, clock=clock))
    return clock


@pytest.fixture
def limits(clock: Clock) -> Limits:
    return Limits(writes_per_minute=3, searches_per_minute=5)


async def write(rest: httpx.AsyncClient, **fields: str) -> httpx.Response:
    return await rest.post("/v1/memories", json=ANA | {"content": "green tea"} | fields)


def told(answer: httpx.Response) -> tuple[int, ...]:
    return tuple(int(answer.headers[f"ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))


async def test_a_refused_write_says_how_many_there_were_and_when_to_come_back(rest: httpx.AsyncClient):
    assert [told(await write(rest)) for _ in range(3)] == [(3, 2, 18), (3, 1, 18), (3, 0, 18)]
    for number in (4, 5):
        refused = await write(rest)
        assert refused.status_code == 429
        assert refused.json()["detail"] == WRITTEN.format(number)
        assert refused.json()["code"] == "rate_limited"
        assert refused.headers["retry-after"] == "18"
        assert told(refused) == (3, 0, 18)
    assert await count(rest) == 3


async def test_a_refused_search_says_the_same_in_its_own_words(rest: httpx.AsyncClient):
    assert [told(await ask(rest, "tea")) for _ in range(5)][-1] == (5, 0, 18)
    refused = await ask(rest, "tea")
    assert (refused.status_code, refused.json()["detail"]) == (429, SEARCHED.format(6))
    assert refused.headers["retry-after"] == "18"


async def test_the_next_minute_begins_anew(rest: httpx.AsyncClient, clock: Clock):
    for _ in range(4):
        refused = await write(rest)
    clock.now += float(refused.headers["retry-after"]) - 1
    assert (await write(rest)).status_code == 429
    clock.now += 1
    answer = await write(rest)
    assert (answer.status_code, told(answer)) == (201, (3, 2, 60))


async def test_limits_are_per_agent_whatever_the_user_and_per_operation(rest: httpx.AsyncClient):
    statuses = [(await write(rest, user_id=user)).status_code for user in ("ana", "ben", "cleo", "dag")]
    assert statuses == [201, 201, 201, 429]
    assert (await write(rest, agent_id="other")).status_code == 201
    assert len(await search(rest, "tea")) == 1


async def test_counting_deleting_and_looking_after_the_service_are_not_limited(rest: httpx.AsyncClient):
    memory = await store(rest, "tea")
    for _ in range(10):
        assert await count(rest) == 1
        assert (await rest.get("/health")).status_code == 200
    path = f"/v1/memories/{memory['id']}"
    statuses = [(await rest.delete(path, params={"agent_id": "assistant"})).status_code for _ in range(10)]
    assert statuses == [204] + [404] * 9
    assert told(await write(rest)) == (3, 1, 18)


async def test_a_request_that_is_not_valid_costs_nothing(rest: httpx.AsyncClient):
    for _ in range(10):
        assert (await write(rest, content=" ")).status_code == 422
    assert told(await write(rest)) == (3, 2, 18)


async def test_of_many_at_once_just_so_many_pass(rest: httpx.AsyncClient):
    answers = await asyncio.gather(*[write(rest) for _ in range(20)])
    refused = [answer.json()["detail"] for answer in answers if answer.status_code == 429]
    assert sorted(int(re.findall(r"\d+", text)[0]) for text in refused) == list(range(4, 21))
    assert await count(rest) == 3


async def test_zero_is_off(run: Run, clock: Clock):
    async with run(limits=Limits(writes_per_minute=0, searches_per_minute=1)) as service:
        for _ in range(30):
            answer = await write(service.client)
            assert answer.status_code == 201
            assert "ratelimit-limit" not in answer.headers
        assert [(await ask(service.client, "tea")).status_code for _ in range(2)] == [200, 429]
