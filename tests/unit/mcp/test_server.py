"""What the server says of itself, and the table of errors."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.server import Server
from mcp.types import Tool

from memex import __version__, errors
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model
from memex.mcp.server import OUTWARD
from memex.mcp.tools import TOOLS
from memex.model import MAX_CONTENT, MAX_QUERY, MemoryType
from tests.architecture.test_documentation import tree
from tests.behaviour.manifest import proves
from tests.fixtures.agents import CURRENT, REVISIONS
from tests.unit.mcp.test_tools import EACH_CALL

BUDGET = 2_500
ARGUMENTS: dict[str, dict[str, Any]] = {
    "store_memory": {
        "agent_id": None,
        "user_id": None,
        "content": None,
        "memory_type": "episodic",
        "importance": 1.0,
        "idempotency_key": None,
    },
    "search_memories": {
        "agent_id": None,
        "user_id": None,
        "query": None,
        "top_k": 5,
        "alpha": 0.7,
        "memory_type": None,
    },
    "get_context": {"agent_id": None, "user_id": None, "query": None, "max_tokens": 1000},
    "list_memories": {
        "agent_id": None,
        "user_id": None,
        "created_after": None,
        "created_before": None,
        "limit": 20,
        "cursor": None,
    },
    "get_memory": {"agent_id": None, "memory_id": None},
    "update_memory": {
        "agent_id": None,
        "memory_id": None,
        "content": None,
        "importance": None,
        "idempotency_key": None,
    },
    "delete_memory": {"agent_id": None, "memory_id": None, "idempotency_key": None},
    "count_memories": {"agent_id": None, "user_id": None},
}
OPTIONAL = {
    "store_memory": {"memory_type", "importance", "idempotency_key"},
    "search_memories": {"top_k", "alpha", "memory_type"},
    "get_context": {"max_tokens"},
    "list_memories": {"created_after", "created_before", "limit", "cursor"},
    "update_memory": {"content", "importance", "idempotency_key"},
    "delete_memory": {"idempotency_key"},
}


async def listed(server: Server[Any], mode: str) -> list[Tool]:
    async with Client(server, mode=mode) as client:
        return (await client.list_tools()).tools


@pytest.mark.parametrize("mode", REVISIONS)
async def test_the_server_introduces_itself(server: Server[Any], mode: str):
    async with Client(server, mode="auto" if mode != "legacy" else mode) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("memex", __version__)
        said = client.instructions or ""
        assert all(word in said for word in ("store_memory", "search_memories", "importance", "alpha", *MemoryType))
        assert client.server_capabilities.tools is not None


@pytest.mark.parametrize("mode", REVISIONS)
async def test_names_arguments_and_defaults_are_those_of_the_reference(server: Server[Any], mode: str):
    tools = {tool.name: tool.input_schema for tool in await listed(server, mode)}
    found = {
        name: {argument: rules.get("default") for argument, rules in schema["properties"].items()}
        for name, schema in tools.items()
    }
    assert found == ARGUMENTS
    required = {name: set(schema["required"]) for name, schema in tools.items()}
    assert required == {name: set(given) - OPTIONAL.get(name, set()) for name, given in ARGUMENTS.items()}


@proves("tools.typed")
async def test_every_argument_has_a_type_and_a_meaning(server: Server[Any]):
    for tool in await listed(server, CURRENT):
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert tool.title
        assert tool.description
        for rules in tool.input_schema["properties"].values():
            assert rules["type"] in {"string", "integer", "number"}
            assert len(rules["description"]) > 10
            if "default" in rules:
                Draft202012Validator(rules).validate(rules["default"])


@proves("tools.typed")
async def test_schemas_take_what_the_tools_take(server: Server[Any]):
    schemas = {tool.name: Draft202012Validator(tool.input_schema) for tool in await listed(server, CURRENT)}
    for name, arguments in EACH_CALL:
        schemas[name].validate(arguments)
        assert not schemas[name].is_valid(arguments | {"other": 1})
    assert not schemas["store_memory"].is_valid(EACH_CALL[0][1] | {"content": "x" * (MAX_CONTENT + 1)})
    assert not schemas["search_memories"].is_valid(EACH_CALL[1][1] | {"query": "x" * (MAX_QUERY + 1)})


async def test_annotations_say_what_a_call_can_do(server: Server[Any]):
    found = {
        tool.name: (a.read_only_hint, a.destructive_hint, a.idempotent_hint, a.open_world_hint)
        for tool in await listed(server, CURRENT)
        if (a := tool.annotations)
    }
    assert found == {
        "store_memory": (False, False, False, False),
        "search_memories": (True, False, True, False),
        "get_context": (True, False, True, False),
        "list_memories": (True, False, True, False),
        "get_memory": (True, False, True, False),
        "update_memory": (False, False, True, False),
        "delete_memory": (False, True, True, False),
        "count_memories": (True, False, True, False),
    }


async def test_the_list_of_tools_costs_a_model_little(server: Server[Any]):
    """By a tokenizer that makes more of JSON than those of large models do: each mark is a token of its own."""
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in await listed(server, CURRENT)]
    text = json.dumps({"tools": tools}, ensure_ascii=False)
    tokenizer = open_tokenizer(open_model("e5-small-v2").tokenizer)
    assert len(tokenizer.encode(text).ids) < BUDGET
    assert len(text.encode()) / 4 < BUDGET * 0.7


def test_every_error_has_an_outward_form():
    assert set(OUTWARD) == set(tree(errors.MemexError))


def test_every_tool_is_called_in_these_tests():
    assert [name for name, _ in EACH_CALL] == [tool.name for tool in TOOLS]
