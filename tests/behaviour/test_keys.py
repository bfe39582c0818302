"""Requests that are repeated with a key: done once, and answered as the first time."""

import asyncio
import json
from typing import Any

import httpx
import psycopg
import pytest

from memex.settings import Limits
from tests.behaviour.asking import ANA, change, count, delete, locations, store, texts
from tests.behaviour.changing import read
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import SURFACES, open_surface
from tests.fixtures.app import Run, Running

OWN = {"agent_id": "assistant"}
SOMEWHERE = "019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a"


def told(answer: httpx.Response) -> tuple[int, bytes, str | None]:
    """What must be the same when it comes again."""
    return answer.status_code, answer.content, answer.headers.get("etag")


def replayed(answer: httpx.Response) -> bool:
    value = answer.headers.get("idempotency-replayed")
    assert value in (None, "true")
    return value is not None


async def keyed(rest: httpx.AsyncClient, method: str, path: str, key: str = "k", **rest_of_it: Any) -> httpx.Response:
    headers = {"idempotency-key": key} | rest_of_it.pop("headers", {})
    return await rest.request(method, path, headers=headers, **rest_of_it)


async def write(rest: httpx.AsyncClient, content: str, key: str = "k", **fields: Any) -> httpx.Response:
    return await keyed(rest, "POST", "/v1/memories", key, json=ANA | {"content": content} | fields)


async def test_fifty_equal_requests_at_once_to_two_services_are_one_memory(run: Run):
    async with run() as first, run() as second:
        clients = (first.client, second.client)
        answers = await asyncio.gather(*[write(rest, "green tea") for _ in range(25) for rest in clients])
        assert {told(answer) for answer in answers} == {told(answers[0])}
        assert (answers[0].status_code, sum(map(replayed, answers))) == (201, 49)
        assert [await count(rest) for rest in clients] == [1, 1]
        assert await texts(first.client, "tea") == ["green tea"]
        done = [
            sum(s.metrics.registry.get_sample_value("memex_memory_operations_total", {"operation": name}) or 0
                for s in (first, second))
            for name in ("create", "replay")
        ]  # fmt: skip
        assert done == [1, 49]


@proves("batch.once")
async def test_equal_batches_at_once_through_two_services_are_one(run: Run):
    """More than one group of items holds, so that groups of several batches come between each other."""
    items = [ANA | {"content": f"note {n}", "user_id": f"user-{n % 3}"} for n in range(200)]
    async with run() as first, run() as second:
        clients = (first.client, second.client) * 3
        asked = [keyed(rest, "POST", "/v1/memories/batch", json=items) for rest in clients]
        answers = await asyncio.gather(*asked)
        assert {answer.content for answer in answers} == {answers[0].content}
        assert answers[0].json()["stored"] == 200
        assert [await count(rest, user_id=f"user-{n}") for rest in clients[:2] for n in range(3)] == [67, 67, 66] * 2


@proves("batch.once")
async def test_the_key_of_a_batch_of_other_items_is_refused(rest: httpx.AsyncClient):
    def items(*contents: str) -> dict[str, Any]:
        return {"json": [ANA | {"content": content} for content in contents]}

    path = "/v1/memories/batch"
    assert (await keyed(rest, "POST", path, **items("tea", "milk"))).status_code == 200
    for other in (items("wine", "beer"), items("wine"), items("milk", "tea")):
        refused = await keyed(rest, "POST", path, **other)
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    assert await count(rest) == 2


async def test_a_restart_forgets_no_key(run: Run):
    async with run() as first:
        before = await write(first.client, "green tea")
    async with run() as second:
        again = await write(second.client, "green tea")
    assert (told(again), replayed(before), replayed(again)) == (told(before), False, True)


async def test_each_way_to_change_a_memory_is_gone_once(rest: httpx.AsyncClient):
    memory = (await write(rest, "green tea", tags=["a"])).json()
    path = f"/v1/memories/{memory['id']}"
    own: dict[str, Any] = {"params": OWN}
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", path, own | {"json": {"content": "black coffee"}, "headers": {"if-match": '"1"'}}),
        ("POST", f"{path}/archive", own),
        ("POST", f"{path}/restore", own),
    ]
    answers = [await keyed(rest, method, where, **dict(how)) for method, where, how in steps]
    assert [(a.status_code, a.headers["etag"], replayed(a)) for a in answers] == [
        (200, '"2"', False), (200, '"3"', False), (200, '"4"', False),
    ]  # fmt: skip
    await change(rest, memory, importance=0.25)
    again = [await keyed(rest, method, where, **dict(how)) for method, where, how in steps]
    assert [(told(a), replayed(a)) for a in again] == [(told(a), True) for a in answers]
    assert (await rest.get(path, **own)).json()["version"] == 5
    first, second = [await keyed(rest, "DELETE", path, **own) for _ in range(2)]
    assert (told(first), told(second)) == ((204, b"", None),) * 2
    assert (replayed(first), replayed(second)) == (False, True)
    assert (await rest.delete(path, **own)).status_code == 404


async def test_the_key_of_another_request_is_refused(rest: httpx.AsyncClient):
    memory = (await write(rest, "green tea")).json()
    other = await store(rest, "white wine")
    path = f"/v1/memories/{memory['id']}"
    assert (await keyed(rest, "PATCH", path, params=OWN, json={"importance": 2.0})).status_code == 200
    refused = [
        await write(rest, "black coffee"),
        await write(rest, "green tea", tags=["x"]),
        await keyed(rest, "PATCH", path, params=OWN, json={"importance": 0.5}),
        await keyed(rest, "PATCH", path, params=OWN, json={"importance": 2.0}, headers={"if-match": '"1"'}),
        await keyed(rest, "PATCH", f"/v1/memories/{other['id']}", params=OWN, json={"importance": 2.0}),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "idempotency_conflict")] * 5
    assert not any(map(replayed, refused))
    assert sorted(await texts(rest, "anything", top_k=50)) == ["green tea", "white wine"]


async def test_a_key_is_the_agents_the_users_and_the_routes_own(rest: httpx.AsyncClient):
    answers = [await write(rest, "tea", **who) for who in ({}, {"agent_id": "other"}, {"user_id": "ben"})]
    path = f"/v1/memories/{answers[0].json()['id']}"
    answers += [
        await keyed(rest, "POST", f"{path}/archive", params=OWN),
        await keyed(rest, "POST", f"{path}/restore", params=OWN),
        await keyed(rest, "PATCH", path, params=OWN, json={"importance": 2.0}),
        await write(rest, "tea", "K"),
        await keyed(rest, "DELETE", path, params=OWN),
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 200, 200, 200, 201, 204]
    assert not any(map(replayed, answers))


async def test_the_same_request_in_other_words_is_the_same(rest: httpx.AsyncClient):
    first = await write(rest, "tea", importance=1.5, metadata={"a": 1, "b": 2})
    said = '{"metadata": {"b": 2, "a": 1}, "content": "tea", "importance": "1.5", "tags": [], "agent_id": "assistant",'
    again = await keyed(rest, "POST", "/v1/memories", content=f'{said} "user_id": "ana"}}')
    assert (told(again), replayed(again)) == (told(first), True)


async def test_what_failed_may_be_tried_again(rest: httpx.AsyncClient):
    assert (await write(rest, " ")).status_code == 422
    missing = f"/v1/memories/{SOMEWHERE}"
    for method, path in (("PATCH", missing), ("DELETE", missing)):
        body: dict[str, Any] = {"json": {"importance": 2.0}} if method == "PATCH" else {}
        assert (await keyed(rest, method, path, params=OWN, **body)).status_code == 404
    memory = (await write(rest, "tea")).json()
    path = f"/v1/memories/{memory['id']}"
    stale: dict[str, Any] = {"params": OWN, "json": {"importance": 2.0}, "headers": {"if-match": '"7"'}}
    assert (await keyed(rest, "PATCH", path, **dict(stale))).status_code == 412
    assert (await keyed(rest, "PATCH", path, params=OWN, json={"importance": 2.0})).status_code == 200
    assert (await keyed(rest, "DELETE", path, params=OWN)).status_code == 204


async def test_what_was_there_is_told_as_it_was(rest: httpx.AsyncClient):
    await store(rest, "tea", external_id="e")
    for again in (False, True):
        answer = await write(rest, "milk", external_id="e")
        assert (answer.status_code, answer.json()["content"], replayed(answer)) == (200, "tea", again)


def expire(database: str, memory: dict[str, Any]) -> None:
    with psycopg.connect(database) as connection:
        past = "UPDATE memex.memories SET expires_at = now() - interval '1 hour' WHERE id = %s"
        connection.execute(past, [memory["id"]])


async def test_what_a_memory_repeats_is_told_as_it_was(rest: httpx.AsyncClient, database: str):
    first, second, third = [await store(rest, "tea", external_id=str(number)) for number in range(3)]
    expire(database, first)
    before = await write(rest, "tea", external_id="2")
    assert before.json()["duplicate_of"] == second["id"]
    expire(database, second)
    again = await write(rest, "tea", external_id="2")
    assert (told(again), replayed(again)) == (told(before), True)
    assert (await read(rest, third))["duplicate_of"] is None


@proves("batch.once")
@pytest.mark.parametrize("form", ["list", "lines"])
async def test_a_batch_is_repeated_item_by_item(rest: httpx.AsyncClient, form: str):
    async def batch(*contents: str, key: str = "k") -> tuple[list[tuple[str, str | None]], bool]:
        items = [json.dumps(ANA | {"content": content}) for content in contents]
        body = f"[{','.join(items)}]" if form == "list" else "\n".join(items)
        media = {"content-type": "application/json" if form == "list" else "application/x-ndjson"}
        answer = await keyed(rest, "POST", "/v1/memories/batch", key, content=body, headers=media)
        assert answer.status_code == 200, answer.text
        return [(item["status"], item["id"]) for item in answer.json()["items"]], replayed(answer)

    first, again = await batch("tea", " ", "milk")
    assert ([status for status, _ in first], again) == (["stored", "invalid", "stored"], False)
    assert await batch("tea", " ", "milk") == (first, True)
    # What failed then is stored now, what was another item is refused, and what comes after is new.
    second, again = await batch("coffee", "wine", "milk", "juice")
    assert ([status for status, _ in second], again) == (["invalid", "stored", "stored", "stored"], False)
    assert second[2] == first[2]
    assert await count(rest) == 4
    alone = await write(rest, "tea", "k#0")
    assert (alone.status_code, replayed(alone)) == (201, False)
    await rest.delete(f"/v1/memories/{first[0][1]}", params=OWN)
    late, _ = await batch("tea", "wine")
    assert late == [("invalid", None), second[1]]


@pytest.mark.parametrize("who", [{}, OWN])
async def test_the_short_form_takes_keys_too(rest: httpx.AsyncClient, who: dict[str, str]):
    note = OWN | {"content": "tea", "metadata": {"importance": "high"}}
    answers = [await keyed(rest, "POST", "/api/memories", json=note) for _ in range(2)]
    assert (told(answers[0]), replayed(answers[0]), replayed(answers[1])) == (told(answers[1]), False, True)
    whole = note | {"user_id": "default", "importance": 1.5}
    assert replayed(await keyed(rest, "POST", "/v1/memories", json=whole))
    path = f"/memories/{answers[0].json()['id']}"
    gone = [await keyed(rest, "DELETE", f"/api{path}", params=who) for _ in range(2)]
    assert (told(gone[0]), replayed(gone[0]), replayed(gone[1])) == (told(gone[1]), False, True)
    assert replayed(await keyed(rest, "DELETE", f"/v1{path}", params=OWN))
    assert (await keyed(rest, "DELETE", f"/api{path}", "other", params=who)).status_code == 404


async def test_a_retry_brings_nothing_back_that_was_deleted(rest: httpx.AsyncClient):
    memory = (await write(rest, "green tea")).json()
    await delete(rest, memory)
    for _ in range(2):
        late = await write(rest, "green tea")
        assert (late.status_code, late.json()["code"], replayed(late)) == (404, "not_found", False)
    assert await count(rest) == 0
    assert (await write(rest, "green tea", "another")).status_code == 201


async def test_a_key_holds_for_a_day_by_the_database(rest: httpx.AsyncClient, database: str):
    await write(rest, "tea")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memex.idempotency_keys SET used_at = used_at - interval '24 hours'")
    answer = await write(rest, "milk")
    assert (answer.status_code, replayed(answer)) == (201, False)


@pytest.mark.parametrize("key", ["", " ", "a b", "ü", "a\tb", "x" * 256, "\x7f"], ids=ascii)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "", ANA | {"content": ""}),
        ("PATCH", f"/{SOMEWHERE}", {"content": ""}),
        ("POST", f"/{SOMEWHERE}/archive", None),
        ("POST", f"/{SOMEWHERE}/restore", None),
        ("DELETE", f"/{SOMEWHERE}", None),
        ("POST", "/delete", ANA | {"content": ""}),
    ],
)
async def test_a_key_that_is_none_is_named_with_all_else(
    rest: httpx.AsyncClient, key: str, method: str, path: str, body: dict[str, Any] | None
):
    headers = [(b"idempotency-key", key.encode("latin-1"))]
    own = None if path in ("", "/delete") else OWN
    answer = await rest.request(method, f"/v1/memories{path}", headers=headers, params=own, json=body)
    expected = [["header", "idempotency-key"], *([["body", "content"]] if body else [])]
    assert locations(answer) == expected


async def test_any_visible_key_is_taken_and_two_are_none(rest: httpx.AsyncClient):
    for key in ('"quoted"', "k#0", "!~", "x" * 255, "ünï".encode().hex()):
        assert [replayed(await write(rest, "tea", key)) for _ in range(2)] == [False, True]
    headers = [("idempotency-key", "a"), ("idempotency-key", "b")]
    twice = await rest.post("/v1/memories", json=ANA | {"content": "tea"}, headers=headers)
    assert locations(twice) == [["header", "idempotency-key"]]


async def test_a_retry_is_a_write_to_the_limit(run: Run):
    async with run(limits=Limits(writes_per_minute=3, searches_per_minute=0)) as service:
        answers = [await write(service.client, "tea") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
        assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]


@proves("store.once")
@pytest.mark.parametrize("name", SURFACES[1:])
async def test_tools_take_a_key_and_a_retry_may_come_through_another_door(service: Running, name: str):
    key = {"idempotency_key": "k"}
    async with open_surface(name, service) as tools:
        stored = await tools.call("store_memory", ANA | {"content": "tea"} | key)
        again = await tools.call("store_memory", ANA | {"content": "tea"} | key)
        assert (again.text, again.content, again.failed) == (stored.text, stored.content, False)
        elsewhere = await write(service.client, "tea")
        assert (elsewhere.json(), replayed(elsewhere)) == (stored.content, True)
        conflict = await tools.call("store_memory", ANA | {"content": "milk"} | key)
        assert (conflict.failed, conflict.content["code"]) == (True, "idempotency_conflict")
        named = OWN | {"memory_id": stored.content["id"]} | key
        updates = [await tools.call("update_memory", named | {"content": "milk"}) for _ in range(2)]
        assert [(u.failed, u.content["version"]) for u in updates] == [(False, 2)] * 2
        for update in ({"content": "wine"}, {"importance": 2}):
            assert (await tools.call("update_memory", named | update)).content["code"] == "idempotency_conflict"
        gone = [await tools.call("delete_memory", named) for _ in range(2)]
        assert [(g.text, g.failed) for g in gone] == [(f"Deleted memory {stored.content['id']}.", False)] * 2
        late = await tools.call("store_memory", ANA | {"content": "tea"} | key)
        assert (late.failed, late.content["code"]) == (True, "not_found")
        for wrong in ("", "a b", 7, "x" * 256):
            bad = await tools.call("store_memory", ANA | {"content": "tea", "idempotency_key": wrong})
            assert bad.failed
            assert [p["loc"] for p in bad.content["detail"]] == [["arguments", "idempotency_key"]]
    assert await count(service.client) == 0
