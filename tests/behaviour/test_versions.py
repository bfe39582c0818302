"""Versions in headers: who changes what has changed is told, who has the version gets no body."""

import asyncio

import httpx
import pytest

from memex.model import Mode
from tests.behaviour.asking import ANA, count, locations, search, store
from tests.behaviour.changing import OWN, changed, history, patch, read
from tests.fixtures.app import Run


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


DOORS = {"whole": "/v1/memories", "short": "/api/memories"}


@pytest.mark.parametrize("door", DOORS)
async def test_a_delete_is_of_the_version_that_it_names(rest: httpx.AsyncClient, door: str):
    memory = await store(rest, "green tea")
    await changed(rest, memory, importance=0.1)
    path = f"{DOORS[door]}/{memory['id']}"
    for match, status in (('"1"', 412), ('"3", "4"', 412), ('W/"2"', 412), ('"x"', 412), ("2", 422), ("", 422)):
        for who in (OWN, ANA):
            answer = await rest.delete(path, params=who, headers={"If-Match": match})
            assert answer.status_code == status, match
    for who in (OWN | {"agent_id": "other"}, OWN | {"user_id": "ben"}):
        assert (await rest.delete(path, params=who, headers={"If-Match": '"2"'})).status_code == 404
    assert (await read(rest, memory))["version"] == 2
    assert (await rest.delete(path, params=OWN, headers={"If-Match": '"1", "2"'})).status_code in (200, 204)
    assert (await rest.delete(path, params=OWN, headers={"If-Match": '"2"'})).status_code == 404
    for mode in Mode:
        assert await search(rest, "green tea", mode=mode) == []
    assert await count(rest) == 0


async def test_of_a_change_and_a_delete_of_one_version_one_is_done_by_any_process(run: Run):
    """What was changed is not deleted by who has not seen the change."""
    async with run() as first, run() as second:
        for number in range(30):
            changer, eraser = (first, second) if number % 2 else (second, first)
            memory = await store(first.client, f"green tea {number}")
            removing = eraser.client.delete(f"/v1/memories/{memory['id']}", params=OWN, headers={"If-Match": '"1"'})
            kept, gone = await asyncio.gather(patch(changer.client, memory, match='"1"', importance=0.5), removing)
            assert (kept.status_code, gone.status_code) in ((200, 412), (404, 204))
            found = [hit["id"] for hit in await search(changer.client, "tea", top_k=50)]
            assert (memory["id"] in found) is (kept.status_code == 200)


async def test_several_deletes_of_versions_at_once_have_an_outcome_each(rest: httpx.AsyncClient):
    memories = [await store(rest, f"tea {number}") for number in range(20)]
    for memory in memories[::2]:
        await changed(rest, memory, importance=0.5)
    answers = await asyncio.gather(
        *[rest.delete(f"/v1/memories/{m['id']}", params=ANA, headers={"If-Match": '"1"'}) for m in memories],
        *[rest.delete(f"/v1/memories/{m['id']}", params=ANA, headers={"If-Match": '"2"'}) for m in memories[::4]],
    )
    assert [answer.status_code for answer in answers] == [412, 204] * 10 + [204] * 5
    assert await count(rest) == 5


async def test_a_delete_of_a_version_is_done_once_for_its_key(rest: httpx.AsyncClient):
    memory = await store(rest, "green tea")
    path, key = f"/v1/memories/{memory['id']}", {"Idempotency-Key": "k"}
    assert (await rest.delete(path, params=OWN, headers=key | {"If-Match": '"2"'})).status_code == 412
    done = [await rest.delete(path, params=OWN, headers=key | {"If-Match": '"1"'}) for _ in range(2)]
    assert [(a.status_code, a.headers.get("idempotency-replayed")) for a in done] == [(204, None), (204, "true")]
    other = await rest.delete(path, params=OWN, headers=key | {"If-Match": '"3"'})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


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
