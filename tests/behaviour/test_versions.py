"""Versions in headers: who changes what has changed is told, who has the version gets no body."""

import asyncio

import httpx
import pytest

from tests.behaviour.asking import locations, store
from tests.behaviour.changing import OWN, changed, history, patch, read


async def test_of_two_who_change_the_same_version_one_does(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    answers = await asyncio.gather(*[patch(rest, memory, match='"1"', importance=n / 20) for n in range(20)])
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 19
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert won["version"] == 2
    assert await read(rest, memory) == won
    assert len(await history(rest, memory)) == 2
    refused = next(answer for answer in answers if answer.status_code == 412)
    assert refused.json()["code"] == "version_conflict"


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ('"3"', 200), ("*", 200), ('"1", "3"', 200), (' , "9" ,"3",', 200), ('"1","2"', 412), ('"4"', 412),
        ('W/"3"', 412), ('W/"3", "3"', 200), ('"03"', 412), ('"3.0"', 412), ('"abc"', 412), ('""', 412),
        ('"99999999999999999999"', 412), ('"0"', 412), ("3", 422), ('"3', 422), ("'3'", 422), ("*, *", 422),
        ('"3" "4"', 422), ("W/3", 422), ('w/"3"', 422), (",", 422), ('"3", *', 422),
    ],
)  # fmt: skip
async def test_a_condition_is_read_as_http_says(rest: httpx.AsyncClient, match: str, status: int):
    memory = await store(rest, "green tea")
    for importance in (0.1, 0.2):
        await changed(rest, memory, importance=importance)
    for answer in (
        await patch(rest, memory, match=match, importance=0.2),
        await rest.post(f"/v1/memories/{memory['id']}/restore", params=OWN, headers={"If-Match": match}),
    ):
        assert answer.status_code == status, answer.text
        if status == 422:
            assert locations(answer) == [["header", "if-match"]]


async def test_a_reader_who_has_the_version_gets_no_body(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    await changed(rest, memory, importance=0.1)
    path = f"/v1/memories/{memory['id']}"
    for held, status in (
        ('"2"', 304),
        ('W/"2"', 304),
        ('"1", "2"', 304),
        ("*", 304),
        ('"1"', 200),
        ('"x"', 200),
        ("2", 422),
    ):
        answer = await rest.get(path, params=OWN, headers={"If-None-Match": held})
        assert answer.status_code == status
        if status != 422:
            assert answer.headers["etag"] == '"2"'
        assert (answer.content == b"") is (status == 304)
