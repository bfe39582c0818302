"""Bad input at every route and every field that the OpenAPI document names: 4xx that says which, and nothing stored."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from memex.api.examples import MEMORY, NEW
from tests.behaviour.documented import Json, address, body_of, entries, written
from tests.behaviour.manifest import proves
from tests.fixtures.app import Running

# As JSON texts: what no field takes, whatever its kind.
NEVER = {
    "NUL": '"a\\u0000b"',
    "half a character": '"a\\ud800"',
    "not a number": "NaN",
    "infinite": "-Infinity",
    "beyond a double": "1e999",
    "2^63": str(2**63),
    "below -2^63": str(-(2**63) - 1),
    "an endless number": "9" * 5000,
    "a list in a list": "[[]]",
    "a list of halves": '["a\\udfff"]',
    "deep": "[" * 5000 + "]" * 5000,
}
# As query strings: what no parameter takes.
NOWHERE = {"NUL": "a%00b", "half a character": "%ED%A0%80", "no UTF-8": "%FF"}
NUMBERS = {"2^63": 2**63, "negative": -1, "not a number": "NaN", "infinite": "inf", "beyond a double": "1e999"}
# As bodies: what is no JSON in UTF-8, or no object.
BODIES = {
    "empty": b"",
    "cut": b'{"agent_id": "a',
    "UTF-16": '{"agent_id": "a"}'.encode("utf-16"),
    "Latin-1": '{"agent_id": "é"}'.encode("latin-1"),
    "a surrogate in UTF-8": b'{"agent_id": "\xed\xa0\x80"}',
    "two values": b"{} {}",
    "no object": b"7",
    "null": b"null",
    "an object in a list": b"[{}]",
    "deep": b'{"a":' * 50_000,
    "endless digits": b"9" * 100_000,
}


class Case(NamedTuple):
    """One request, and where its fault is said to be."""

    method: str
    url: str
    content: bytes | None
    place: list[Any]


def bodies(described: Json, identity: str) -> Iterator[Case]:
    """Each field of each body, with each value that it does not take."""
    for method, path, entry in entries(described):
        if not (taken := body_of(described, entry)):
            continue
        example, properties = taken
        rest = json.dumps(example).replace(MEMORY["id"], identity)
        for name in properties:
            for text in NEVER.values():
                if name == "min_score" and text.lstrip("-").isdigit() and len(text) < 300:
                    continue  # whatever is above all scores finds nothing
                raw = f"{rest[:-1]}, {json.dumps(name)}: {text}}}".encode()
                yield Case(method, address(path, entry, identity), raw, ["body", name])


def queries(described: Json, identity: str) -> Iterator[Case]:
    """Each parameter of each query, likewise."""
    for method, path, entry in entries(described):
        content = entry.get("requestBody", {}).get("content", {}).get("application/json")
        raw = json.dumps(content["example"]).encode() if content else None
        for one in entry.get("parameters", []):
            if one["in"] == "query":
                numeric = one["schema"].get("type") in ("integer", "number")
                for value in (NOWHERE | (NUMBERS if numeric else {})).values():
                    url = address(path, entry, identity, **{one["name"]: value})
                    yield Case(method, url, raw, ["query", one["name"]])


async def refused(client: httpx.AsyncClient, case: Case) -> httpx.Response:
    """What a request is answered; always a problem as JSON, and a 4xx."""
    headers = {"content-type": "application/json"} if case.content is not None else {}
    answer = await client.request(case.method, case.url, content=case.content, headers=headers)
    told = json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} in an answer"))
    assert 400 <= answer.status_code < 500, (case, told)
    assert told.keys() == {"detail", "code", "request_id"}, (case, told)
    return answer


@proves("input.every-field")
async def test_every_field_of_every_body_is_named_when_it_is_bad(
    service: Running, described: Json, identity: str, database: str
):
    before, asked = written(database), 0
    for case in bodies(described, identity):
        answer = await refused(service.client, case)
        assert answer.status_code == 422, (case, answer.text)
        if not case.content or b"[[[[" not in case.content:
            assert case.place in [one["loc"][:2] for one in answer.json()["detail"]], (case, answer.text)
        asked += 1
    assert asked > 500
    assert written(database) == before


@proves("input.every-field")
async def test_every_parameter_of_every_query_is_named_when_it_is_bad(
    service: Running, described: Json, identity: str, database: str
):
    before, asked = written(database), 0
    for case in queries(described, identity):
        answer = await refused(service.client, case)
        assert answer.status_code == 422, (case, answer.text)
        assert case.place in [one["loc"][:2] for one in answer.json()["detail"]], (case, answer.text)
        asked += 1
    assert asked > 100
    assert written(database) == before


async def test_every_body_that_is_no_object_is_refused_as_a_whole(
    service: Running, described: Json, identity: str, database: str
):
    before, asked = written(database), 0
    for method, path, entry in entries(described):
        if "requestBody" in entry:
            for raw in BODIES.values():
                if raw == b"[{}]" and body_of(described, entry) is None:
                    continue  # a batch with an item that is bad
                answer = await refused(service.client, Case(method, address(path, entry, identity), raw, ["body"]))
                assert answer.status_code == 422, (path, raw[:40], answer.text)
                assert {one["loc"][0] for one in answer.json()["detail"]} <= {"body"}
                asked += 1
    assert asked > 50
    assert written(database) == before


@pytest.mark.parametrize("identity", ["%00", "%FF", "%ED%A0%80", "1" * 5000, str(2**63), "-1", "null", "a%2Fb"])
async def test_an_address_that_is_none_is_refused(service: Running, described: Json, identity: str, database: str):
    before, asked = written(database), 0
    for method, path, entry in entries(described):
        if "{memory_id}" in path:
            content = entry.get("requestBody", {}).get("content", {}).get("application/json")
            raw = json.dumps(content["example"]).encode() if content else None
            answer = await refused(service.client, Case(method, address(path, entry, identity), raw, []))
            assert answer.status_code == (404 if identity == "a%2Fb" else 422), (path, answer.text)
            asked += 1
    assert asked > 5
    assert written(database) == before


HEADERS = [b"", b"\xff", b"\xc3\x28", b"a,b", b'"', b"*", b"W/", b"9" * 5000, b"\t", b"\x7f", str(2**63).encode()]


async def test_a_header_that_is_odd_is_taken_for_what_it_is_or_refused_by_name(
    service: Running, described: Json, identity: str
):
    asked = 0
    for method, path, entry in entries(described):
        for name in [one["name"] for one in entry.get("parameters", []) if one["in"] == "header"]:
            for value in HEADERS:
                content = entry.get("requestBody", {}).get("content", {}).get("application/json")
                raw = json.dumps(content["example"]).encode() if content else None
                stored = (await service.client.post("/v1/memories", json=NEW)).json()["id"]
                url = address(path, entry, stored)
                answer = await service.client.request(method, url, content=raw, headers={name.encode(): value})
                assert answer.status_code < 500, (path, name, value, answer.text)
                if answer.status_code == 422:
                    assert [one["loc"] for one in answer.json()["detail"]] == [["header", name.lower()]]
                asked += 1
    assert asked > 50


def items(described: Json) -> list[tuple[str, bytes]]:
    """Each field of an item with each value that it does not take."""
    rest = json.dumps(NEW)[:-1]
    found = described["components"]["schemas"]["NewMemory"]["properties"]
    return [(name, f"{rest}, {json.dumps(name)}: {text}}}".encode()) for name in found for text in NEVER.values()]


@proves("batch.one-bad-item")
@pytest.mark.parametrize("form", ["application/json", "application/x-ndjson"])
async def test_every_bad_item_of_a_batch_fails_alone_with_its_index(service: Running, described: Json, form: str):
    bad = items(described)
    good = [json.dumps(NEW | {"content": f"number {n}"}).encode() for n in range(len(bad))]
    mixed = [raw for pair in zip([raw for _, raw in bad], good, strict=True) for raw in pair]
    sent = b"\n".join(mixed) if form.endswith("ndjson") else b"[" + b",".join(mixed) + b"]"
    answer = await service.client.post("/v1/memories/batch", content=sent, headers={"content-type": form})
    told = json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} in an answer"))
    assert (told["stored"], told["invalid"], told["failed"]) == (len(good), len(bad), 0)
    for index, ((name, raw), item, beside) in enumerate(zip(bad, told["items"][::2], told["items"][1::2], strict=True)):
        assert (item["index"], item["status"], beside["status"]) == (2 * index, "invalid", "stored")
        # No reader gets to a field of what is too deep.
        assert name in item["errors"][0]["loc"] or b"[[[[" in raw, item
