"""The OpenAPI document, made from the routes' descriptions and the structs' own rules."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from memex.api.problems import STATUS, ErrorBody
from memex.api.routes import Answer, Operation
from memex.errors import HostRefused, Invalid, MemexError, Overloaded, RateLimited, StoreFault

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
# The door and unforeseen faults may answer for any route.
ANYWHERE: tuple[type[MemexError], ...] = (HostRefused, Overloaded, StoreFault)
RATE_HEADERS = {
    "RateLimit-Limit": "Requests of this agent per UTC minute.",
    "RateLimit-Remaining": "What is left of them.",
    "RateLimit-Reset": "Seconds until the next minute.",
}
EXAMPLE_ID = "7f9c24e5a1b03d68"


def document(name: str, version: str, operations: Sequence[Operation]) -> Json:
    """OpenAPI 3.1 of all operations."""
    schemas = components(operations)
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = entry(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": name, "version": version, "description": "Long-term memory for AI agents."},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def components(operations: Sequence[Operation]) -> Json:
    """The schemas of every struct that is taken or given, and of those inside."""
    structs: set[Any] = {ErrorBody}
    for operation in operations:
        structs |= {s for s in (operation.body, *(a.content for a in operation.answers)) if is_struct(s)}
    _, schemas = msgspec.json.schema_components(sorted(structs, key=lambda s: s.__name__), ref_template=REF)
    return {name: typed(schema) for name, schema in sorted(schemas.items())}


def is_struct(kind: Any) -> bool:
    """Whether it has a schema of its own."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def typed(schema: Any) -> Any:
    """Puts `x-types` in the place of `type`: msgspec can add to what it says of a type, not replace it."""
    if isinstance(schema, list):
        return [typed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: typed(part) for key, part in schema.items() if key != "x-types"}
    return found | {"type": schema["x-types"]} if "x-types" in schema else found


def entry(operation: Operation) -> Json:
    """One operation."""
    described: Json = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": dict(sorted({**errors(operation), **answers(operation)}.items())),
    }
    if operation.text:
        described["description"] = operation.text
    if found := list(parameters(operation)):
        described["parameters"] = found
    if operation.body:
        content = {"schema": reference(operation.body), "example": operation.example}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    return described


def parameters(operation: Operation) -> Iterator[Json]:
    """Those of the path, then those of the query."""
    for name, schema in operation.path_parameters.items():
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    if operation.query:
        _, schemas = msgspec.json.schema_components([operation.query], ref_template=REF)
        described = schemas[operation.query.__name__]
        for name, schema in described["properties"].items():
            yield {"name": name, "in": "query", "required": name in described["required"], "schema": of_text(schema)}


def of_text(schema: Json) -> Json:
    """A query string has no null: an optional parameter is left out."""
    choices = [choice for choice in schema.get("anyOf", [schema]) if choice != {"type": "null"}]
    return dict(choices[0])


def answers(operation: Operation) -> dict[str, Json]:
    """The successful outcomes by status."""
    return {str(a.status): outcome(a, operation.limited) for a in operation.answers}


def outcome(answer: Answer, limited: bool) -> Json:
    """One of them."""
    described: Json = {"description": answer.text}
    if answer.content or answer.media != "application/json":
        schema = reference(answer.content) if answer.content else {"type": "string"}
        content: Json = {"schema": schema}
        if answer.example is not None:
            content["example"] = answer.example
        described["content"] = {answer.media: content}
    if limited:
        described["headers"] = rate_headers()
    return described


def errors(operation: Operation) -> dict[str, Json]:
    """The failures by status; several kinds may share one."""
    kinds: dict[int, list[type[MemexError]]] = {}
    for kind in dict.fromkeys([*operation.errors, *ANYWHERE]):
        kinds.setdefault(STATUS[kind], []).append(kind)
    return {str(status): failure(status, members) for status, members in kinds.items()}


def failure(status: int, kinds: list[type[MemexError]]) -> Json:
    """One failure with an example."""
    kind = kinds[0]
    detail: Any = str(kind.__doc__)
    if kind is Invalid:
        detail = [{"type": "missing", "loc": ["body", "agent_id"], "msg": "Field required", "input": {}}]
    example = {"detail": detail, "code": kind.code, "request_id": EXAMPLE_ID}
    described: Json = {
        "description": f"{HTTPStatus(status).phrase}: " + ", ".join(f"`{k.code}`" for k in kinds),
        "content": {"application/json": {"schema": reference(ErrorBody), "example": example}},
    }
    if kind is RateLimited:
        described["headers"] = rate_headers()
    return described


def rate_headers() -> Json:
    """Present where a limit is on."""
    return {name: {"description": text, "schema": {"type": "integer"}} for name, text in RATE_HEADERS.items()}


def reference(kind: type[Any]) -> Json:
    """A struct by name, anything else as an open object."""
    return {"$ref": REF.format(name=kind.__name__)} if is_struct(kind) else {"type": "object"}
