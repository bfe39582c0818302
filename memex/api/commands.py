"""Each route as a command for a shell, made of its example."""

import json
import shlex
from typing import Any
from urllib.parse import quote, urlencode

Json = dict[str, Any]
MEDIA = "application/json"


def command(address: str, path: str, method: str, entry: Json) -> str:
    """`curl` with what the operation shows as its example; `address` is scheme, host and port."""
    usual = "POST" if "requestBody" in entry else "GET"
    words = ["curl", "-s", *([] if method == usual else ["-X", method]), address + target(path, entry)]
    if described := entry.get("requestBody", {}).get("content", {}).get(MEDIA):
        words += ["-H", f"Content-Type: {MEDIA}", "-d", json.dumps(described["example"], ensure_ascii=False)]
    return shlex.join(words)


def target(path: str, entry: Json) -> str:
    """Path and query."""
    query: dict[str, str] = {}
    for parameter in entry.get("parameters", []):
        name, value = parameter["name"], parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        elif value is not None:
            query[name] = value
    return f"{path}?{urlencode(query)}" if query else path
