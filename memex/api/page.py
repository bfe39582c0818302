"""The OpenAPI document as one HTML page for people: no script, nothing loaded."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from memex.api.commands import command

Json = dict[str, Any]

STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
h1,h2,h3{line-height:1.2}h2{border-bottom:1px solid var(--line);padding-bottom:.2rem;margin-top:2.5rem}
details{border:1px solid var(--line);border-radius:.4rem;margin:.6rem 0;padding:.5rem .8rem}
summary{cursor:pointer}code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:var(--soft);margin:.4rem 0;padding:.7rem;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}td{overflow-wrap:break-word}td:first-child{white-space:nowrap}
td details{border:0;margin:0;padding:0}h3{font-size:1em;margin:1rem 0 .3rem}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top}
.method{display:inline-block;min-width:4.2em;font-weight:700}
"""


def page(document: Json, address: str) -> str:
    """A whole page; its commands go to `address`, which is scheme, host and port."""
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    operations = "".join(operation(address, *found) for found in entries(document))
    schemas = "".join(schema(name, described) for name, described in document["components"]["schemas"].items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{title}</h1><p>{escape(document['info']['description'])} "
        f'The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>'
        f"<h2>Routes</h2>{operations}<h2>Schemas</h2>{schemas}</body></html>"
    )


def entries(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Path, method and description of each route."""
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            yield path, method.upper(), entry


def operation(address: str, path: str, method: str, entry: Json) -> str:
    """One route."""
    head = f'<span class="method">{method}</span> <code>{escape(path)}</code> – {escape(entry["summary"])}'
    text = f"<p>{marked(entry['description'])}</p>" if "description" in entry else ""
    parts = [
        f"<pre>{escape(command(address, path, method, entry))}</pre>",
        parameters(entry.get("parameters", [])),
        request(entry.get("requestBody")),
        responses(entry["responses"]),
    ]
    return (
        f'<details open id="{escape(entry["operationId"])}"><summary>{head}</summary>{text}{"".join(parts)}</details>'
    )


def parameters(found: list[Json]) -> str:
    """Those of path and query."""
    rows = [
        row(
            code(p["name"]),
            f"{p['in']}, {'required' if p['required'] else 'optional'}",
            kind(p["schema"]),
            about(p["schema"] | {"description": p["description"]}),
        )
        for p in found
    ]
    return f"<h3>Parameters</h3><table>{''.join(rows)}</table>" if rows else ""


def request(body: Json | None) -> str:
    """The body that a route takes; the command above shows it filled."""
    if body is None:
        return ""
    kinds = [f"{code(media)} {kind(described['schema'])}" for media, described in body["content"].items()]
    return f"<h3>Body</h3>{''.join(kinds)}"


def responses(found: Json) -> str:
    """Every outcome; examples of errors are folded, and none is shown twice."""
    shown: list[Any] = []
    rows = [row(code(status), outcome(response, shown, status < "400")) for status, response in found.items()]
    return f"<h3>Answers</h3><table>{''.join(rows)}</table>"


def outcome(response: Json, shown: list[Any], unfolded: bool) -> str:
    """One of them."""
    contents = (content(media, shown, unfolded) for media in response.get("content", {}).items())
    return marked(response["description"]) + "".join(contents)


def content(media: tuple[str, Json], shown: list[Any], unfolded: bool) -> str:
    """A media type, its schema and an example, unless that is among those that were `shown` before."""
    name, described = media
    head = f"{code(name)} {kind(described['schema'])}"
    example = described.get("example")
    if example is None or example in shown:
        return f"<div>{head}</div>"
    shown.append(example)
    text = escape(json.dumps(example, indent=2, ensure_ascii=False))
    return f"<details{' open' * unfolded}><summary>{head}, for example</summary><pre>{text}</pre></details>"


def schema(name: str, described: Json) -> str:
    """One schema with its fields, or its values."""
    needed = described.get("required", [])
    rows = [
        row(
            code(field),
            kind(part),
            "required" if field in needed else default(part),
            about(part),
        )
        for field, part in described.get("properties", {}).items()
    ]
    if values := described.get("enum"):
        rows.append(row(*map(code, values)))
    head = f"<summary>{code(name)} {marked(described.get('description', ''))}</summary>"
    return f'<details open id="schema-{escape(name)}">{head}<table>{"".join(rows)}</table></details>'


def kind(described: Json) -> str:
    """What a value is, with links to schemas."""
    if "$ref" in described:
        name = escape(described["$ref"].rsplit("/", 1)[1])
        return f'<a href="#schema-{name}"><code>{name}</code></a>'
    if "anyOf" in described:
        return " or ".join(kind(part) for part in described["anyOf"])
    if "enum" in described:
        return " or ".join(map(code, described["enum"]))
    named = described.get("type", "any")
    text = " or ".join(named) if isinstance(named, list) else named
    return f"{escape(text)} of {kind(described['items'])}" if described.get("items") else escape(text)


def about(described: Json) -> str:
    """What is said of a value, and its bounds."""
    bounds = {
        "minLength": "at least {} characters",
        "maxLength": "at most {} characters",
        "minItems": "at least {} items",
        "maxItems": "at most {} items",
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
    }
    parts = [described, *described.get("anyOf", [])]
    texts = [part["description"] for part in parts if "description" in part]
    limits = ", ".join(text.format(part[key]) for part in parts for key, text in bounds.items() if key in part)
    return marked(" ".join([*texts, f"({limits})" if limits else ""]))


def default(described: Json) -> str:
    """What counts when a field is left out."""
    return code(f"default {json.dumps(described['default'])}") if "default" in described else ""


def marked(text: str) -> str:
    """Escaped, with `code` between backticks."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))


def code(text: Any) -> str:
    """As code."""
    return f"<code>{escape(str(text))}</code>"


def row(*cells: str) -> str:
    """One row of a table, from cells that are HTML."""
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
