"""The OpenAPI document as one HTML page for people: no script, nothing loaded."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

Json = dict[str, Any]

STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
h1,h2,h3{line-height:1.2}h2{border-bottom:1px solid var(--line);padding-bottom:.2rem;margin-top:2.5rem}
details{border:1px solid var(--line);border-radius:.4rem;margin:.6rem 0;padding:.5rem .8rem}
summary{cursor:pointer}code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:var(--soft);padding:.7rem;border-radius:.4rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top}
.method{display:inline-block;min-width:4.2em;font-weight:700}
"""


def page(document: Json) -> str:
    """A whole page."""
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    operations = "".join(operation(path, method, entry) for path, method, entry in entries(document))
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


def operation(path: str, method: str, entry: Json) -> str:
    """One route, folded."""
    head = f'<span class="method">{method}</span> <code>{escape(path)}</code> – {escape(entry["summary"])}'
    text = f"<p>{marked(entry['description'])}</p>" if "description" in entry else ""
    parts = [parameters(entry.get("parameters", [])), request(entry.get("requestBody")), responses(entry["responses"])]
    return f'<details id="{escape(entry["operationId"])}"><summary>{head}</summary>{text}{"".join(parts)}</details>'


def parameters(found: list[Json]) -> str:
    """Those of path and query."""
    rows = [
        row(code(p["name"]), p["in"], kind(p["schema"]), "required" if p["required"] else "optional") for p in found
    ]
    return f"<h3>Parameters</h3><table>{''.join(rows)}</table>" if rows else ""


def request(body: Json | None) -> str:
    """The body that a route takes."""
    return f"<h3>Body</h3>{''.join(content(media) for media in body['content'].items())}" if body else ""


def responses(found: Json) -> str:
    """Every outcome."""
    rows = [
        row(code(status), marked(r["description"]), "".join(content(media) for media in r.get("content", {}).items()))
        for status, r in found.items()
    ]
    return f"<h3>Answers</h3><table>{''.join(rows)}</table>"


def content(media: tuple[str, Json]) -> str:
    """A media type, its schema and an example."""
    name, described = media
    shown = described.get("example")
    text = json.dumps(shown, indent=2, ensure_ascii=False) if shown is not None else ""
    return f"{code(name)} {kind(described['schema'])}" + (f"<pre>{escape(text)}</pre>" if text else "")


def schema(name: str, described: Json) -> str:
    """One schema with its fields, or its values."""
    needed = described.get("required", [])
    rows = [
        row(code(field), kind(part), escape(limits(part)), "required" if field in needed else default(part))
        for field, part in described.get("properties", {}).items()
    ]
    if values := described.get("enum"):
        rows.append(row(*map(code, values)))
    head = f"<summary>{code(name)} {marked(described.get('description', ''))}</summary>"
    return f'<details id="schema-{escape(name)}">{head}<table>{"".join(rows)}</table></details>'


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


def limits(described: Json) -> str:
    """The bounds of a value and what is said of it."""
    bounds = {
        "minLength": "at least {} characters",
        "maxLength": "at most {} characters",
        "minItems": "at least {} items",
        "maxItems": "at most {} items",
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "description": "{}",
    }
    parts = [described, *described.get("anyOf", [])]
    return ", ".join(text.format(part[key]) for part in parts for key, text in bounds.items() if key in part)


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
