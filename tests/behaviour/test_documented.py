"""Every example of the OpenAPI document works, and is answered as the document shows."""

from typing import Any

import httpx
import jsonschema

from memex.api.examples import MEMORY, NEW
from tests.behaviour.documented import Json
from tests.fixtures.app import Running

STREAM = "application/x-ndjson"


def operations(described: Json) -> list[tuple[str, str, Json]]:
    """Method, path and description; what deletes comes last."""
    found = [(method, path, entry) for path, entries in described["paths"].items() for method, entry in entries.items()]
    return sorted(found, key=lambda one: "delete" in one[2]["operationId"])


def check(described: Json, schema: Json, value: Any) -> None:
    jsonschema.Draft202012Validator({"components": described["components"], **schema}).validate(value)


def filled(value: Any, identity: str) -> Any:
    """An example with the id of a memory that there is."""
    if isinstance(value, dict):
        return {key: filled(part, identity) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, identity) for part in value]
    return identity if value == MEMORY["id"] else value


def given(entry: Json, place: str, identity: str) -> Json:
    """The parameters of one kind that have an example."""
    found = [one for one in entry.get("parameters", []) if one["in"] == place and "example" in one]
    return {one["name"]: filled(one["example"], identity) for one in found}


async def asked(client: httpx.AsyncClient, method: str, path: str, entry: Json, media: str | None) -> httpx.Response:
    """The example of an operation, about a memory that is stored for it."""
    stored = (await client.post("/v1/memories", json=NEW)).json()["id"]
    content: Any = {}
    if media:
        example = filled(entry["requestBody"]["content"][media]["example"], stored)
        content = {"json": example} if media != STREAM else {"content": example, "headers": {"content-type": media}}
    url = path.format_map(given(entry, "path", stored))
    return await client.request(method, url, params=given(entry, "query", stored), **content)


def names(value: Any) -> list[str]:
    """The fields of an answer, of its first item if it is a list."""
    if isinstance(value, list):
        return names(value[0]) if value else []
    return sorted(value) if isinstance(value, dict) else []


async def test_every_request_that_is_shown_works_and_is_answered_as_shown(service: Running, described: Json):
    for method, path, entry in operations(described):
        shown = {int(status): answer for status, answer in entry["responses"].items() if int(status) < 400}
        for media in entry.get("requestBody", {}).get("content", {None: None}):
            answer = await asked(service.client, method, path, entry, media)
            assert answer.status_code in shown, (path, answer.text)
            described_as = shown[answer.status_code].get("content", {})
            if not described_as:
                assert answer.content == b""
                continue
            ((kind, content),) = described_as.items()
            assert answer.headers["content-type"].startswith(kind)
            if kind == "application/json":
                check(described, content["schema"], answer.json())
                assert names(answer.json()) == names(content.get("example", answer.json()))


async def test_every_answer_that_is_shown_is_one_of_its_schema(described: Json):
    shown = 0
    for _, _, entry in operations(described):
        for answer in entry["responses"].values():
            for content in answer.get("content", {}).values():
                if "example" in content:
                    check(described, content["schema"], content["example"])
                    shown += 1
        for content in entry.get("requestBody", {}).get("content", {}).values():
            check(described, content["schema"], content["example"])
    assert shown > 100
