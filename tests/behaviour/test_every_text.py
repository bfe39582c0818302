"""However deep in a body a text may be, what no text may hold is refused there."""

import json
from collections.abc import Iterator
from typing import Any

from tests.behaviour.documented import Json, address, body_of, entries, written
from tests.behaviour.manifest import proves
from tests.fixtures.app import Running

NUL, HALF = "a\0b", "a\ud800b"


def filled(schema: Json, known: Json, bad: str) -> Iterator[Any]:
    """Values of a schema that hold `bad` in one of the places where a text may be."""
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", []):
        yield from filled(choice, known, bad)
    kinds = schema.get("type", [])
    if "string" in kinds:
        yield bad
    if "array" in kinds:
        yield from ([value] for value in filled(schema.get("items", {}), known, bad))
    if "object" in kinds and "properties" in schema:
        for name, part in schema["properties"].items():
            yield from ({name: value} for value in filled(part, known, bad))
    elif "object" in kinds:
        yield from ({"k": bad}, {bad: 1}, {"k": [bad]}, [{"k": bad}])


def requests(described: Json, identity: str, bad: str) -> Iterator[tuple[str, str, str, bytes]]:
    """Method, address, field and body, which is written as escapes where UTF-8 has no letters."""
    known = described["components"]["schemas"]
    for method, path, entry in entries(described):
        if taken := body_of(described, entry):
            example, properties = taken
            for name, part in properties.items():
                for value in filled(part, known, bad):
                    yield method, address(path, entry, identity), name, json.dumps(example | {name: value}).encode()


@proves("input.every-field", "input.half-characters")
async def test_what_no_text_may_hold_is_refused_wherever_there_is_a_text(
    service: Running, described: Json, identity: str, database: str
):
    before, deep = written(database), 0
    for bad in (NUL, HALF):
        for method, url, name, content in requests(described, identity, bad):
            headers = {"content-type": "application/json"}
            answer = await service.client.request(method, url, content=content, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), (url, content)
            (place,) = [problem["loc"] for problem in answer.json()["detail"]]
            assert place[:2] == ["body", name], (url, content, place)
            deep += len(place) > 2
    assert deep > 50
    assert written(database) == before
