"""POST /v1/memories/batch: every item has an outcome of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import psycopg
import pytest

from memex.reading.faults import WIDEST
from memex.settings import Limits
from memex.store import writes
from tests.behaviour.asking import ANA, count, locations, search, texts
from tests.behaviour.manifest import proves
from tests.behaviour.test_listing import contents, listing
from tests.fakes import DIMENSIONS
from tests.fixtures.app import Run, Running

Item = dict[str, Any]
FORMS = ["list", "lines"]
PATH = "/v1/memories/batch"
LINES = {"Content-Type": "application/x-ndjson"}


def new(content: str, **fields: Any) -> Item:
    return ANA | {"content": content} | fields


async def post(rest: httpx.AsyncClient, items: Iterable[Any], form: str = "list") -> httpx.Response:
    if form == "list":
        return await rest.post(PATH, json=list(items))
    return await rest.post(PATH, content="".join(json.dumps(item) + "\n" for item in items), headers=LINES)


async def batch(rest: httpx.AsyncClient, items: Iterable[Any], form: str = "list") -> dict[str, Any]:
    """A batch that is answered for sure; its counts are those of its items."""
    answer = await post(rest, items, form)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    for status in ("stored", "duplicate", "invalid", "failed"):
        assert result[status] == sum(item["status"] == status for item in result["items"])
    assert [item["index"] for item in result["items"]] == list(range(len(result["items"])))
    return result


async def stream(rest: httpx.AsyncClient, *chunks: bytes) -> dict[str, Any]:
    """Lines as chunks of unknown length in all."""

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    answer = await rest.post(PATH, content=body(), headers=LINES)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


def statuses(result: dict[str, Any]) -> list[str]:
    return [item["status"] for item in result["items"]]


@pytest.mark.parametrize("form", FORMS)
async def test_all_items_are_stored_in_their_order(rest: httpx.AsyncClient, form: str):
    """More than one group holds."""
    result = await batch(rest, [new(f"note {number}") for number in range(300)], form)
    assert result["stored"] == 300
    assert all(item["errors"] == [] for item in result["items"])
    assert await count(rest) == 300
    ids = {item["id"]: f"note {item['index']}" for item in result["items"]}
    listed = [memory for page in [await listing(rest, limit=100)] for memory in page["memories"]]
    assert {memory["id"]: memory["content"] for memory in listed}.items() <= ids.items()
    assert contents({"memories": listed}) == [f"note {number}" for number in range(299, 199, -1)]
    assert (await texts(rest, "note 7", top_k=1, alpha=1)) == ["note 7"]


@proves("batch.one-bad-item")
@pytest.mark.parametrize("form", FORMS)
async def test_a_bad_item_fails_alone_with_its_place_and_reason(rest: httpx.AsyncClient, form: str):
    bad: dict[int, tuple[Item, str, str]] = {
        1: ({"content": "x" * 8001}, "string_too_long", "content"),
        3: ({"content": "a\0b"}, "value_error", "content"),
        4: ({"content": "  "}, "value_error", "content"),
        6: ({"importance": float("nan")}, "finite_number", "importance"),
        7: ({"importance": 2**63}, "less_than_equal", "importance"),
        8: ({"user_id": None}, "string_type", "user_id"),
        9: ({"metadata": {"a\0": 1}}, "value_error", "metadata"),
        10: ({"tags": "t"}, "list_type", "tags"),
        11: ({"contents": "x"}, "extra_forbidden", "contents"),
        12: ({"content": "\ud800"}, "value_error", "content"),
        13: ({"embedding": [1.0]}, "value_error", "embedding"),
    }
    body = json.dumps([new(f"note {at}") | (bad[at][0] if at in bad else {}) for at in range(16)])
    if form == "list":
        answer = await rest.post(PATH, content=body, headers={"Content-Type": "application/json"})
    else:
        answer = await rest.post(PATH, content="\n".join(map(json.dumps, json.loads(body))), headers=LINES)
    result = answer.json()
    assert answer.status_code == 200, result
    for item in result["items"]:
        assert item["status"] == ("invalid" if item["index"] in bad else "stored")
        if item["index"] in bad:
            _, kind, name = bad[item["index"]]
            (problem,) = item["errors"]
            assert (problem["loc"][:3], item["id"]) == (["body", item["index"], name], None)
            assert problem["type"] in {kind, "too_short"}
    assert (result["stored"], result["invalid"]) == (5, 11)
    assert await count(rest) == 5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("item", [5, None, "x", [], True])
async def test_an_item_that_is_no_object_fails_alone(rest: httpx.AsyncClient, form: str, item: Any):
    result = await batch(rest, [new("a"), item, new("b")], form)
    assert statuses(result) == ["stored", "invalid", "stored"]
    assert result["items"][1]["errors"][0]["loc"] == ["body", 1]


@pytest.mark.parametrize("form", FORMS)
async def test_a_batch_sent_again_adds_nothing(rest: httpx.AsyncClient, form: str):
    items = [new(f"note {n}", external_id=f"x{n}") for n in range(40)] + [
        new(f"text {n}", on_duplicate="return") for n in range(40)
    ]
    first = await batch(rest, items, form)
    again = await batch(rest, items, form)
    assert (first["stored"], again["stored"], again["duplicate"]) == (80, 0, 80)
    assert [item["id"] for item in again["items"]] == [item["id"] for item in first["items"]]
    assert await count(rest) == 80


@pytest.mark.parametrize("form", FORMS)
async def test_of_equal_items_of_one_batch_the_first_is_stored(rest: httpx.AsyncClient, form: str):
    same = [new("a", external_id="x"), new("b", external_id="x"), new("c"), new("c", on_duplicate="return"), new("c")]
    result = await batch(rest, same, form)
    assert statuses(result) == ["stored", "duplicate", "stored", "duplicate", "stored"]
    ids = [item["id"] for item in result["items"]]
    assert (ids[1], ids[3]) == (ids[0], ids[2])
    copies = {memory["id"]: memory["duplicate_of"] for memory in (await listing(rest))["memories"]}
    assert copies == {ids[0]: None, ids[2]: None, ids[4]: ids[2]}


@pytest.mark.parametrize("form", FORMS)
async def test_a_batch_may_be_about_many_users_and_agents(rest: httpx.AsyncClient, form: str):
    who = [{"agent_id": f"a{n % 3}", "user_id": f"u{n % 5}"} for n in range(60)]
    result = await batch(rest, [new(f"note {n}", **one) for n, one in enumerate(who)], form)
    assert result["stored"] == 60
    for one in who[:15]:
        assert await count(rest, **one) == 4
        for memory in (await listing(rest, **one))["memories"]:
            at = int(memory["content"].split()[1])
            assert (who[at], result["items"][at]["id"]) == (one, memory["id"])


@pytest.mark.parametrize("form", FORMS)
async def test_everything_of_an_item_is_stored(rest: httpx.AsyncClient, form: str):
    sent = {
        "importance": 1.5,
        "memory_type": "semantic",
        "created_at": "2024-05-01T10:00:00.000000Z",
        "tags": ["a,b"],
        "metadata": {"k": [1, None]},
        "session_id": "s",
        "source": "mail",
        "external_id": "x",
        "visibility": "shared",
        "expires_at": "2999-01-01T00:00:00.000000Z",
    }
    await batch(rest, [new("tea", **sent)], form)
    (memory,) = (await listing(rest))["memories"]
    assert {name: memory[name] for name in sent} == sent


async def test_long_and_short_items_and_ready_vectors_keep_their_places(rest: httpx.AsyncClient):
    vector = [1.0] + [0.0] * (DIMENSIONS - 1)
    items = [
        new("long " * 1_500 + str(n)) if n % 7 == 3 else new(f"ready {n}", **({"embedding": vector} if n % 2 else {}))
        for n in range(120)
    ]
    result = await batch(rest, items, "lines")
    assert result["stored"] == 120
    for item in result["items"]:
        path = f"/v1/memories/{item['id']}"
        memory = (await rest.get(path, params={"agent_id": "assistant"})).json()
        assert memory["content"] == items[item["index"]]["content"]


async def test_blank_lines_are_skipped_and_lines_are_counted(rest: httpx.AsyncClient):
    raw = json.dumps(new("a")).encode()
    result = await stream(rest, b"\xef\xbb\xbf" + raw + b"\r\n\r\n \t\n", raw[:10], raw[10:] + b"\nnot json\n", raw)
    assert [(item["index"], item["line"], item["status"]) for item in result["items"]] == [
        (0, 1, "stored"),
        (1, 4, "stored"),
        (2, 5, "invalid"),
        (3, 6, "stored"),
    ]
    assert result["items"][2]["errors"][0]["type"] == "json_invalid"


async def test_a_stream_may_be_larger_than_a_body_and_a_line_may_not(rest: httpx.AsyncClient):
    filler = json.dumps(new("x", metadata={"k": "y" * 16_000})).encode() + b"\n"
    long = b'{"content": "' + b"x" * 3_000_000 + b'"}'
    pieces = [long[at : at + 50_000] for at in range(0, len(long), 50_000)]
    result = await stream(rest, *[filler] * 200, *pieces, b"\n", filler)
    assert (result["stored"], result["invalid"]) == (201, 1)
    refused = result["items"][200]
    assert (refused["status"], refused["line"], refused["errors"][0]["type"]) == ("invalid", 201, "too_long")


async def test_a_line_that_is_not_utf8_fails_alone(rest: httpx.AsyncClient):
    good = json.dumps(new("a")).encode()
    bad = good.replace(b"a", b"\xff\xfe", 1)
    result = await stream(rest, b"\n".join([good, bad, json.dumps(new("b")).encode("utf-16"), good]))
    assert statuses(result)[0] == "stored"
    assert statuses(result)[-1] == "stored"
    assert set(statuses(result)[1:-1]) == {"invalid"}


async def test_no_items_are_no_fault(rest: httpx.AsyncClient):
    nothing = {"stored": 0, "duplicate": 0, "invalid": 0, "failed": 0, "items": []}
    assert await batch(rest, []) == nothing
    assert await stream(rest, b"\n \n\r\n") == nothing
    assert await stream(rest, b"") == nothing


@pytest.mark.parametrize("body", ["", "{}", "5", "null", "[", '[{"a": 1},]', "x", '"[]"', "[1] 2"])
async def test_what_is_no_list_stores_nothing(rest: httpx.AsyncClient, body: str):
    answer = await rest.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert locations(answer)[0][0] == "body"


async def test_a_list_has_a_limit_in_items_and_in_bytes(rest: httpx.AsyncClient):
    answer = await post(rest, [new("x")] * 1_001)
    assert locations(answer) == [["body"]]
    (problem,) = answer.json()["detail"]
    assert problem["input"] == [new("x")] * WIDEST
    assert problem["msg"].endswith("not 1001")
    assert (await post(rest, [new("x" * 8_000)] * 300)).status_code == 413
    assert await count(rest) == 0


async def test_a_form_that_is_neither_is_refused(rest: httpx.AsyncClient):
    for media in ("text/plain", "application/x-ndjson, application/json", "multipart/form-data"):
        answer = await rest.post(PATH, content="[]", headers={"Content-Type": media})
        assert answer.status_code == 415, media
        assert "application/x-ndjson" in answer.json()["detail"]
    answer = await rest.post("/v1/memories", content="{}\n" * 1_000_000, headers=LINES)
    assert answer.status_code == 413


@pytest.mark.parametrize("media", ["application/jsonl", "application/x-jsonlines; charset=utf-8", "Application/NDJSON"])
async def test_lines_have_other_names_too(rest: httpx.AsyncClient, media: str):
    answer = await rest.post(PATH, content=json.dumps(new("x")) + "\n", headers={"Content-Type": media})
    assert answer.json()["stored"] == 1


async def test_data_that_the_database_refuses_fails_alone(rest: httpx.AsyncClient, database: str):
    """A fault of ours that the door let pass must not take others with it."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("ALTER TABLE memex.memories ADD CHECK (content <> 'note 5')")
    result = await batch(rest, [new(f"note {n}") for n in range(10)])
    assert [item["index"] for item in result["items"] if item["status"] == "failed"] == [5]
    assert result["items"][5]["errors"][0]["type"] == "store_fault"
    assert await count(rest) == 9


async def test_a_client_that_leaves_keeps_the_groups_that_were_whole(service: Running):
    """Its last line may be cut, so nothing is made of the group that it is in."""
    whole = json.dumps(new("whole")).encode() + b"\n"
    body = {"type": "http.request", "body": whole * 130 + whole[:20], "more_body": True}
    messages = [body, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": "", "server": None, "client": None,
        "headers": [(b"host", b"localhost:8000"), (b"content-type", b"application/x-ndjson")],
    }  # fmt: skip
    await service.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert await count(service.client) == 128


async def test_where_no_item_can_be_stored_that_is_the_answer(run: Run, database: str):
    async with run() as service:
        await batch(service.client, [new("before")])
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            await connection.execute("ALTER FUNCTION memex.memex_enter RENAME TO memex_gone")
            answer = await post(service.client, [new("x"), new("y")])
            assert (answer.status_code, answer.json()["code"]) == (500, "store_fault")
            await connection.execute("ALTER FUNCTION memex.memex_gone RENAME TO memex_enter")
        assert await count(service.client) == 1


async def test_a_batch_waits_for_room_among_the_writes(rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch):
    """Each user is a change of its own, so one batch may be more of them than may wait."""
    monkeypatch.setattr(writes, "WAITING", 16)
    result = await batch(rest, [new("tea", user_id=f"user {n}") for n in range(40)])
    assert (result["stored"], result["failed"]) == (40, 0)


async def test_batches_beside_each_other_and_beside_searches(rest: httpx.AsyncClient):
    results = await asyncio.gather(
        *[batch(rest, [new(f"note {b} {n}") for n in range(150)], FORMS[b % 2]) for b in range(4)],
        *[search(rest, "note") for _ in range(20)],
    )
    assert sum(result["stored"] for result in results[:4] if isinstance(result, dict)) == 600
    assert await count(rest) == 600


class TestWithLimits:
    """A batch is one write of each agent in it."""

    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(writes_per_minute=2, searches_per_minute=0)

    async def test_a_batch_is_one_write_for_each_agent(self, rest: httpx.AsyncClient):
        await batch(rest, [new("x")] * 50 + [new("x", agent_id="other")] * 50)
        await batch(rest, [new("x")] * 50)
        mixed = await batch(rest, [new("x"), new("y", agent_id="other"), new("z")])
        assert statuses(mixed) == ["failed", "stored", "failed"]
        assert mixed["items"][0]["errors"][0]["type"] == "rate_limited"
        refused = await post(rest, [new("x")] * 3)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert "retry-after" in refused.headers
        assert await count(rest) == 100
