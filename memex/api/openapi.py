"""The OpenAPI document, made from the routes' descriptions and the structs' own rules."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import inspect as kinds

from memex.api.door import ALWAYS
from memex.api.meanings import meanings
from memex.api.problems import INTERNAL, PROTOCOL, STATUS, ErrorBody
from memex.api.routes import LINES, Answer, Operation
from memex.errors import HostRefused, Invalid, MemexError, Overloaded

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
RATE_HEADERS = {
    "RateLimit-Limit": "Requests of this agent per UTC minute.",
    "RateLimit-Remaining": "What is left of them.",
    "RateLimit-Reset": "Seconds until the next minute.",
}
EXAMPLE_ID = "7f9c24e5a1b03d68"
HEAD = "HEAD is answered alike, without the body."
TIMEOUT, LIMIT = 408, 429


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
    named: set[Any] = {ErrorBody}
    for operation in operations:
        named |= {s for s in (operation.body, *(a.content for a in operation.answers)) if is_struct(s)}
    _, schemas = msgspec.json.schema_components(sorted(named, key=lambda s: s.__name__), ref_template=REF)
    for struct in {part for one in named for part in structs(kinds.type_info(one))}:
        explain(schemas[struct.__name__], struct)
    return {name: typed(schema) for name, schema in sorted(schemas.items())}


def structs(described: Any) -> Iterator[type[Any]]:
    """The structs of a type, those inside included."""
    if isinstance(described, kinds.StructType):
        yield described.cls
        for field in described.fields:
            yield from structs(field.type)
    for inner in ("type", "item_type", "value_type"):
        if hasattr(described, inner):
            yield from structs(getattr(described, inner))
    for choice in getattr(described, "types", ()):
        yield from structs(choice)


def explain(schema: Json, struct: type[Any]) -> None:
    """Adds what each field means."""
    encoded = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    for name, text in meanings(struct).items():
        schema["properties"][encoded[name]]["description"] = text


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
    if text := " ".join(filter(None, (operation.text, HEAD if operation.head else ""))):
        described["description"] = text
    if found := list(parameters(operation)):
        described["parameters"] = found
    if operation.body:
        described["requestBody"] = {"required": True, "content": contents(operation)}
    return described


def contents(operation: Operation) -> Json:
    """The body by media type; of a stream each line is an item of the list."""
    found: Json = {"application/json": {"schema": reference(operation.body), "example": operation.example}}
    if operation.streamed:
        example = "".join(f"{msgspec.json.encode(item).decode()}\n" for item in operation.example)
        found[LINES] = {"schema": {"type": "string"}, "example": example}
    return found


def parameters(operation: Operation) -> Iterator[Json]:
    """Those of the path, those of the query, then headers."""
    for name, schema in operation.path_parameters.items():
        yield parameter(operation, name, "path", True, schema)
    if operation.query:
        _, schemas = msgspec.json.schema_components([operation.query], ref_template=REF)
        described = schemas[operation.query.__name__]
        explain(described, operation.query)
        for name, schema in described["properties"].items():
            yield parameter(operation, name, "query", name in described["required"], schema)
    for name, schema in operation.headers.items():
        yield parameter(operation, name, "header", False, schema)


def parameter(operation: Operation, name: str, place: str, required: bool, schema: Json) -> Json:
    """One of them, with its value in the example if that has one."""
    described: Json = {"name": name, "in": place, "required": required, "schema": of_text(schema)}
    if "description" in schema:
        described["description"] = schema["description"]
    if name in operation.arguments:
        described["example"] = operation.arguments[name]
    return described


def of_text(schema: Json) -> Json:
    """A query string has no null: an optional parameter is left out."""
    choices = [choice for choice in schema.get("anyOf", [schema]) if choice != {"type": "null"}]
    return {key: part for key, part in choices[0].items() if key != "description"}


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
    if headers := answer.headers | (rate_headers() if limited else {}):
        described["headers"] = headers
    return described


def errors(operation: Operation) -> dict[str, Json]:
    """The failures by status; several kinds may share one."""
    found: dict[int, list[type[MemexError]]] = {}
    for kind in dict.fromkeys([*operation.errors, *anywhere(operation)]):
        found.setdefault(STATUS[kind], []).append(kind)
    described = {
        str(status): failure(status, [kind.code for kind in members], detail(operation, members[0]))
        for status, members in found.items()
    }
    if operation.body:
        code, text = PROTOCOL[TIMEOUT]
        described[str(TIMEOUT)] = failure(TIMEOUT, [code], text)
    return described


def anywhere(operation: Operation) -> Iterator[type[MemexError]]:
    """What the door answers for a route, and what nobody foresaw."""
    yield HostRefused
    if operation.path not in ALWAYS:
        yield Overloaded
    if not operation.constant:
        yield MemexError


def detail(operation: Operation, kind: type[MemexError]) -> Any:
    """What an example of a failure says."""
    if kind is Invalid:
        place = "query" if operation.query else "body"
        return [{"type": "missing", "loc": [place, "agent_id"], "msg": "Field required", "input": {}}]
    return INTERNAL if STATUS[kind] == HTTPStatus.INTERNAL_SERVER_ERROR else str(kind.__doc__)


def failure(status: int, codes: list[str], told: Any) -> Json:
    """One failure with an example."""
    example = {"detail": told, "code": codes[0], "request_id": EXAMPLE_ID}
    described: Json = {
        "description": f"{HTTPStatus(status).phrase}: " + ", ".join(f"`{code}`" for code in codes),
        "content": {"application/json": {"schema": reference(ErrorBody), "example": example}},
    }
    if status == LIMIT:
        described["headers"] = rate_headers()
    return described


def rate_headers() -> Json:
    """Present where a limit is on."""
    return {name: {"description": text, "schema": {"type": "integer"}} for name, text in RATE_HEADERS.items()}


def reference(kind: Any) -> Json:
    """A struct by name, a list of them, anything else as an open object."""
    if is_struct(kind):
        return {"$ref": REF.format(name=kind.__name__)}
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REF)
    return schema if schema["type"] == "array" else {"type": "object"}
