"""Requests to every route, made of the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

import psycopg

Json = dict[str, Any]


def written(database: str) -> list[tuple[Any, ...]]:
    """All that the service could have changed: memories with their versions, and how often the space was written."""
    with psycopg.connect(database) as connection:
        memories = connection.execute("SELECT id, version, state FROM memex.memories ORDER BY id").fetchall()
        return memories + connection.execute("SELECT space_key, version FROM memex.spaces ORDER BY 1").fetchall()


def entries(described: Json) -> Iterator[tuple[str, str, Json]]:
    """Every operation but /mcp, whose errors are its protocol's."""
    for path, methods in described["paths"].items():
        for method, entry in methods.items():
            if path != "/mcp":
                yield method, path, entry


def address(path: str, entry: Json, identity: str, **changed: Any) -> str:
    """The URL of an operation's example; `changed` is put into its query as it is."""
    shown = {one["name"]: one for one in entry.get("parameters", []) if "example" in one}
    asked = {name: one["example"] for name, one in shown.items() if one["in"] == "query"} | changed
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return path.replace("{memory_id}", identity) + (f"?{query}" if query else "")


def body_of(described: Json, entry: Json) -> tuple[Json, Json] | None:
    """The example of an operation that takes an object, and the properties of that."""
    content = entry.get("requestBody", {}).get("content", {}).get("application/json")
    if not content or "$ref" not in content["schema"]:
        return None
    name = content["schema"]["$ref"].rsplit("/", 1)[1]
    return content["example"], described["components"]["schemas"][name]["properties"]
