"""The service's description of itself."""

import html
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from memex.api import context
from memex.api.bodies import Reader
from memex.api.changes import ARCHIVE, CHANGE, RESTORE
from memex.api.examples import NEW
from memex.api.history import HISTORY, READ
from memex.api.memories import DELETE, STORE
from memex.api.openapi import document
from memex.api.page import page
from memex.api.search import QUERY, SEARCH
from memex.api.stats import STATS
from memex.api.surface import address, router, routes
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model
from memex.model import (
    Context,
    ContextQuery,
    Count,
    History,
    Memory,
    MemoryChange,
    NewMemory,
    SearchQuery,
    SearchResult,
    Stats,
)
from memex.settings import Server, Settings
from tests.unit.api.conftest import Surface, services, silent

CONTRACT = {
    ("post", "/v1/memories"),
    ("get", "/v1/memories"),
    ("post", "/v1/memories/batch"),
    ("post", "/api/memories"),
    ("get", "/api/memories"),
    ("get", "/api/memories/search"),
    ("delete", "/api/memories/{memory_id}"),
    ("get", "/api/health"),
    ("get", "/v1/stats"),
    ("post", "/v1/context"),
    ("post", "/v1/memories/delete"),
    ("post", "/v1/memories/search"),
    ("delete", "/v1/memories/{memory_id}"),
    ("get", "/v1/memories/count"),
    ("get", "/v1/memories/{memory_id}"),
    ("patch", "/v1/memories/{memory_id}"),
    ("get", "/v1/memories/{memory_id}/history"),
    ("post", "/v1/memories/{memory_id}/archive"),
    ("post", "/v1/memories/{memory_id}/restore"),
    ("post", "/mcp"),
    *(("get", path) for path in ("/health", "/livez", "/readyz", "/metrics", "/", "/docs", "/redoc", "/openapi.json")),
}
# Answers that fail in a shape of their own: health reports, and errors of the protocol that /mcp speaks.
OF_THEIR_OWN = {("/api/health", "503"), ("/health", "503"), ("/readyz", "503"), ("/mcp", "400"), ("/mcp", "404")}
HEADED = ("/api/health", "/", "/docs", "/redoc", "/openapi.json", "/health", "/livez", "/readyz")


@pytest.fixture
async def described(http: Surface) -> dict[str, Any]:
    answer = await http.client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def operations(described: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): entry for path, methods in described["paths"].items() for method, entry in methods.items()}


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(part) for part in value.values()))
    return set().union(*(references(part) for part in value)) if isinstance(value, list) else set()


async def test_every_route_of_the_router_is_listed_and_no_other(http: Surface, described: dict[str, Any]):
    found = router(routes(Settings(home=Path("unused")), services(http.backend), http.metrics, silent))
    routed = {(m.lower(), route.path_format) for route in found.routes for m in route.methods if m != "OPTIONS"}
    assert set(operations(described)) == CONTRACT
    assert routed == CONTRACT | {("head", path) for path in HEADED}


@pytest.mark.parametrize("path", HEADED)
async def test_head_is_answered_as_get_without_the_body(http: Surface, path: str):
    head, got = await http.client.head(path), await http.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers["content-type"] == got.headers["content-type"]


async def test_bodies_and_answers_have_the_schemas_of_their_structs(described: dict[str, Any]):
    found = operations(described)
    bodies = {
        ("post", "/v1/memories"): "NewMemory",
        ("post", "/v1/memories/search"): "SearchQuery",
        ("post", "/v1/context"): "ContextQuery",
        ("patch", "/v1/memories/{memory_id}"): "MemoryChange",
    }
    for route, name in bodies.items():
        body = found[route]["requestBody"]
        assert body["required"]
        assert body["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{name}"}
    schemas = described["components"]["schemas"]
    for struct in (NewMemory, SearchQuery, ContextQuery, Context, MemoryChange, Memory, SearchResult, History, Count):
        assert set(schemas[struct.__name__]["properties"]) == set(struct.__struct_fields__)
    assert schemas["NewMemory"]["required"] == ["agent_id", "user_id", "content"]
    content = schemas["NewMemory"]["properties"]["content"]
    assert {"type": "string", "minLength": 1, "maxLength": 8000}.items() <= content.items()
    moment = schemas["NewMemory"]["properties"]["created_at"]["anyOf"][0]
    assert moment["type"] == ["string", "number"]
    assert schemas["SearchQuery"]["additionalProperties"] is False


async def test_every_field_and_parameter_says_what_it_means(described: dict[str, Any]):
    fields = {
        f"{name}.{field}": part.get("description", "")
        for name, schema in described["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
    }
    fields |= {
        f"{entry['operationId']}.{parameter['name']}": parameter.get("description", "")
        for entry in operations(described).values()
        for parameter in entry.get("parameters", [])
    }
    assert len(fields) > 60
    assert [name for name, text in fields.items() if not re.fullmatch(r"[`A-Z].{4,}\.", text)] == []


async def test_every_reference_leads_somewhere(described: dict[str, Any]):
    found = references(described)
    assert len(found) > 8
    assert found <= {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}


async def test_parameters_are_listed_with_their_rules(described: dict[str, Any]):
    found = operations(described)
    count = {p["name"]: p for p in found[("get", "/v1/memories/count")]["parameters"]}
    assert {name: (p["in"], p["required"]) for name, p in count.items()} == {
        "agent_id": ("query", True),
        "user_id": ("query", True),
    }
    delete = {p["name"]: p for p in found[("delete", "/v1/memories/{memory_id}")]["parameters"]}
    assert {name: (p["in"], p["required"]) for name, p in delete.items()} == {
        "memory_id": ("path", True),
        "agent_id": ("query", True),
        "user_id": ("query", False),
        "If-Match": ("header", False),
        "Idempotency-Key": ("header", False),
    }
    change = {p["name"]: p for p in found[("patch", "/v1/memories/{memory_id}")]["parameters"]}
    assert (change["If-Match"]["in"], change["If-Match"]["required"]) == ("header", False)
    assert delete["user_id"]["schema"] == {"type": "string", "minLength": 1, "maxLength": 128}
    assert delete["memory_id"]["schema"] == {"type": "string", "format": "uuid"}


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("post", "/v1/memories", {"200", "201", "403", "404", "408", "409", "413", "415", "422", "429", "500", "503"}),
        ("post", "/v1/memories/search", {"200", "403", "408", "413", "415", "422", "429", "500", "503"}),
        ("delete", "/v1/memories/{memory_id}", {"204", "403", "404", "409", "412", "422", "500", "503"}),
        ("get", "/v1/memories", {"200", "403", "422", "500", "503"}),
        ("post", "/v1/memories/batch", {"200", "403", "408", "409", "413", "415", "422", "429", "500", "503"}),
        ("post", "/v1/memories/delete", {"200", "403", "408", "409", "413", "415", "422", "500", "503"}),
        ("get", "/v1/memories/count", {"200", "403", "422", "500", "503"}),
        ("post", "/v1/context", {"200", "403", "408", "413", "415", "422", "429", "500", "503"}),
        ("get", "/v1/stats", {"200", "403", "422", "500", "503"}),
        ("get", "/v1/memories/{memory_id}", {"200", "304", "403", "404", "422", "500", "503"}),
        ("get", "/v1/memories/{memory_id}/history", {"200", "403", "404", "422", "500", "503"}),
        (
            "patch",
            "/v1/memories/{memory_id}",
            {"200", "403", "404", "408", "409", "412", "413", "415", "422", "429", "500", "503"},
        ),
        ("post", "/v1/memories/{memory_id}/archive", {"200", "403", "404", "409", "412", "422", "429", "500", "503"}),
        ("post", "/v1/memories/{memory_id}/restore", {"200", "403", "404", "409", "412", "422", "429", "500", "503"}),
        ("post", "/mcp", {"200", "202", "400", "403", "404", "408", "413", "415", "500", "503"}),
        ("post", "/api/memories", {"200", "201", "403", "404", "408", "409", "413", "415", "422", "429", "500", "503"}),
        ("get", "/api/memories", {"200", "403", "422", "500", "503"}),
        ("get", "/api/memories/search", {"200", "403", "422", "429", "500", "503"}),
        ("delete", "/api/memories/{memory_id}", {"200", "403", "404", "409", "412", "422", "500", "503"}),
        ("get", "/api/health", {"200", "403", "500", "503"}),
        ("get", "/health", {"200", "403", "500", "503"}),
        ("get", "/readyz", {"200", "403", "500", "503"}),
        ("get", "/livez", {"200", "403"}),
        ("get", "/metrics", {"200", "403", "500"}),
        ("get", "/", {"200", "307", "403", "503"}),
        ("get", "/docs", {"200", "403", "503"}),
        ("get", "/openapi.json", {"200", "403", "503"}),
    ],
)
async def test_every_outcome_is_listed(described: dict[str, Any], method: str, path: str, statuses: set[str]):
    responses = operations(described)[(method, path)]["responses"]
    assert set(responses) == statuses
    for status, response in responses.items():
        if status[0] in "45" and (path, status) not in OF_THEIR_OWN:
            assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorBody"}


async def test_only_what_the_admission_limit_can_refuse_says_so(described: dict[str, Any]):
    limited = {path for (_, path), entry in operations(described).items() if "`overloaded`" in str(entry["responses"])}
    assert limited == {path for _, path in CONTRACT} - {"/livez", "/readyz", "/health", "/api/health", "/metrics"}


async def test_the_example_of_a_422_is_at_a_place_that_the_route_reads(described: dict[str, Any]):
    places = {
        entry["operationId"]: entry["responses"]["422"]["content"]["application/json"]["example"]["detail"][0]["loc"]
        for entry in operations(described).values()
        if "422" in entry["responses"]
    }
    assert places == {
        "store_memory": ["body", "agent_id"],
        "search_memories": ["body", "agent_id"],
        "delete_memory": ["query", "agent_id"],
        "list_memories": ["query", "agent_id"],
        "delete_memories": ["body", "agent_id"],
        "store_memories": ["body", "agent_id"],
        "store_note": ["body", "agent_id"],
        "list_notes": ["query", "agent_id"],
        "search_notes": ["query", "agent_id"],
        "delete_note": ["query", "agent_id"],
        "count_memories": ["query", "agent_id"],
        "stats": ["query", "agent_id"],
        "get_context": ["body", "agent_id"],
        "read_memory": ["query", "agent_id"],
        "memory_history": ["query", "agent_id"],
        "change_memory": ["query", "agent_id"],
        "archive_memory": ["query", "agent_id"],
        "restore_memory": ["query", "agent_id"],
    }


def test_the_examples_are_right():
    assert Reader(NewMemory).read(msgspec.json.encode(NEW)).content == NEW["content"]
    assert Reader(SearchQuery).read(msgspec.json.encode(QUERY)).query == QUERY["query"]
    assert Reader(MemoryChange).read(msgspec.json.encode(CHANGE.example)).importance == 1.5
    for operation in (STORE, CHANGE, ARCHIVE, RESTORE, READ):
        shown = operation.answers[0].example
        assert shown == msgspec.to_builtins(msgspec.convert(shown, Memory))
    past = HISTORY.answers[0].example
    assert past == msgspec.to_builtins(msgspec.convert(past, History))
    found = SEARCH.answers[0].example
    assert found == msgspec.to_builtins(msgspec.convert(found, SearchResult))
    assert Reader(ContextQuery).read(msgspec.json.encode(context.QUERY)).max_tokens == 500
    packet = context.PACKET
    assert packet == msgspec.to_builtins(msgspec.convert(packet, Context))
    tokenizer = open_tokenizer(open_model("e5-small-v2").tokenizer)
    assert packet["tokens"] == len(tokenizer.encode(packet["text"], add_special_tokens=False).ids)
    figures = STATS.answers[0].example
    assert figures == msgspec.to_builtins(msgspec.convert(figures, Stats))


class Sources(HTMLParser):
    """Everything that a page would load, run or send to, and every link."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        loads = [str(named[name]) for name in ("src", "srcset", "data", "action", "poster") if name in named]
        loads += [tag] if tag in ("script", "iframe", "object", "embed", "img", "base", "form", "link") else []
        self.loads += loads + [name for name in named if name.startswith("on")]
        if tag == "a":
            self.links.append(str(named["href"]))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "the page is well formed"


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
async def test_the_page_lists_every_route_and_loads_nothing(http: Surface, path: str):
    answer = await http.client.get(path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    text = answer.text
    for method, route in CONTRACT:
        assert f'<span class="method">{method.upper()}</span> <code>{route}</code>' in text
    for name in ("agent_id", "half_life_days", "What does Ana drink?", "MemoryType", "rate_limited"):
        assert name in text
    seen = Sources()
    seen.feed(text)
    assert (seen.loads, seen.open) == ([], [])
    assert "@import" not in text
    assert "url(" not in text
    ids = set(re.findall(r'id="([^"]+)"', text))
    assert {link for link in seen.links if not link.startswith("#")} == {"/openapi.json"}
    assert {link[1:] for link in seen.links if link.startswith("#")} <= ids


async def test_the_page_has_a_command_for_every_route_and_each_of_them_works(http: Surface):
    text = (await http.client.get("/docs")).text
    commands = [shlex.split(html.unescape(found)) for found in re.findall(r"<pre>(curl .+?)</pre>", text)]
    assert len(commands) == len(CONTRACT)
    answered = {
        (answer.request.method.lower(), answer.request.url.path): answer.status_code
        for answer in [await run(http, words) for words in commands]
    }
    memory = "/v1/memories/019876a4-5a3e-7c21-9d0e-2f6b8c4d1e7a"
    known = memory.rpartition("/")[2]
    expected = {(method, path.replace("{memory_id}", known)): 200 for method, path in CONTRACT}
    created = {("post", "/v1/memories"): 201, ("post", "/api/memories"): 201}
    assert answered == expected | created | {("delete", memory): 204}


async def run(http: Surface, words: list[str]) -> httpx.Response:
    """What curl would do."""
    assert words[:2] == ["curl", "-s"]
    options = {name: words[words.index(name) + 1] for name in ("-X", "-H", "-d") if name in words}
    (url,) = [word for word in words if word.startswith("http://127.0.0.1:8000/")]
    method = options.get("-X", "POST" if "-d" in options else "GET")
    named = [options["-H"].split(": ")] if "-H" in options else []
    headers = dict(named)
    return await http.client.request(method, url, content=options.get("-d"), headers=headers)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:8001"),
        ("0.0.0.0", "http://127.0.0.1:8001"),
        ("::", "http://127.0.0.1:8001"),
        ("::1", "http://[::1]:8001"),
        ("memex.example", "http://memex.example:8001"),
    ],
)
def test_the_commands_go_to_where_the_service_listens(host: str, expected: str):
    assert address(Server(host=host, port=8001)) == expected


def test_texts_in_the_page_are_escaped():
    named = document("<b>x</b>", "1", [msgspec.structs.replace(DELETE, summary="a <script>", text="`<i>`")])
    assert not {"<b>", "<script>", "<i>"} & set(re.findall(r"<\w+>", page(named, "http://127.0.0.1:8000")))
