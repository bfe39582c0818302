"""What is wrong with a call is told by name, through every surface, for every argument of every tool."""

import re
from collections.abc import Iterator
from typing import Any

from memex.mcp.tools import TOOLS
from tests.behaviour.asking import ANA
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import Surface, calls, count, store
from tests.fixtures.agents import Answer

SCHEMAS = {tool.name: tool.schema for tool in TOOLS}
INSIDE = ("Traceback", "psycopg", "SELECT", "pydantic", "/memex/")
TEXT, NUMBER = {"string"}, {"integer", "number"}


def arguments_of(kinds: set[str]) -> Iterator[tuple[str, str]]:
    """Every tool with each of its arguments of these kinds."""
    for name, schema in SCHEMAS.items():
        yield from ((name, field) for field, rules in schema["properties"].items() if rules["type"] in kinds)


def is_refused(told: Answer, field: str) -> bool:
    """Whether the call was refused by the name of the argument, and by nothing from inside."""
    assert not [word for word in INSIDE if word in told.text], told.text
    named = field in told.text.replace("-", "_")
    return told.failed and told.content["code"] == "invalid_request" and named


async def untouched(surface: Surface, memory: dict[str, Any]) -> bool:
    """Whether the one memory that there is is alone and as it was."""
    read = await surface.call("get_memory", {"agent_id": ANA["agent_id"], "memory_id": memory["id"]})
    return read.content == memory and await count(surface) == 1


@proves("input.nul")
async def test_a_zero_byte_is_refused_in_every_text(surface: Surface):
    memory = await store(surface, "tea")
    for name, field in arguments_of(TEXT):
        for value in ("a\0b", "\0", "tea\0"):
            told = await surface.call(name, calls(memory["id"])[name] | {field: value})
            assert is_refused(told, field), (name, field, value, told)
    assert await untouched(surface, memory)


@proves("input.blank")
async def test_a_blank_text_stands_for_nothing(surface: Surface):
    memory = await store(surface, "tea")
    for name, field in arguments_of(TEXT):
        blanks: list[Any] = ["", " ", "\t", "\n "]
        blanks += [None] if field in SCHEMAS[name]["required"] and field != "memory_id" else []
        # Without an id in its path an address is another one.
        for value in blanks[2:] if field == "memory_id" else blanks:
            told = await surface.call(name, calls(memory["id"])[name] | {field: value})
            assert is_refused(told, field), (name, field, value, told)
    assert await untouched(surface, memory)


@proves("input.wrong")
async def test_what_is_missing_or_unknown_is_named(surface: Surface):
    memory = await store(surface, "tea")
    for name, whole in calls(memory["id"]).items():
        for field in SCHEMAS[name]["required"]:
            if field != "memory_id":  # part of the path
                told = await surface.call(name, {part: value for part, value in whole.items() if part != field})
                assert is_refused(told, field), (name, field, told)
        for field in ("topk", "filter", "limits", "content_", "Agent_id"):
            assert is_refused(await surface.call(name, whole | {field: "x"}), field), (name, field)
    assert await untouched(surface, memory)


STRUCTURED: tuple[Any, ...] = (5, 1.5, True, [], {}, ["ana"], {"$ne": ""})


# A time may be a number, and REST has a key in a header, which is text whatever it is.
OF_MANY_KINDS = ("created_after", "created_before", "idempotency_key")


@proves("input.wrong")
async def test_a_wrong_type_or_size_is_named_and_the_next_call_works(surface: Surface):
    """What has only texts, a query string, takes a number for its digits; then it names nobody."""
    memory = await store(surface, "tea")
    for name, field in arguments_of(TEXT):
        long = "x" * (60_000 if is_text(name, field) else 2**20)  # an address has its own bounds
        for value in (*STRUCTURED, long) if field not in OF_MANY_KINDS else ():
            told = await surface.call(name, calls(memory["id"])[name] | {field: value})
            assert is_refused(told, field) or (is_text(name, field) and is_nobodys(told)), (name, field, value, told)
    assert await untouched(surface, memory)


def is_text(name: str, field: str) -> bool:
    """Whether REST has this argument in a query string or a path."""
    read = name in ("list_memories", "get_memory", "delete_memory", "count_memories")
    return read or (name == "update_memory" and field in ("agent_id", "memory_id"))


def is_nobodys(told: Answer) -> bool:
    """Whether the answer is that there is nothing."""
    if told.failed:
        return bool(told.content["code"] == "not_found")
    return bool(told.content.get("total", told.content.get("count")) == 0)


@proves("input.numbers")
async def test_a_number_out_of_range_reaches_nobody(surface: Surface):
    memory = await store(surface, "tea")
    wild: tuple[Any, ...] = (-1, 0, 2.5, 10**9, 2**63, -(2**63), 10**30, 1e300, "abc", "", [], {}, "1e999")
    for name, field in arguments_of(NUMBER):
        if name in ("store_memory", "update_memory"):
            continue
        for value in wild:
            told = await surface.call(name, calls(memory["id"])[name] | {field: value})
            assert is_refused(told, field) or not told.failed, (name, field, value, told)
            assert told.failed or told.content["total"] == 1
    for value in ("abc", "", [], {}, "1e999"):
        for name in ("store_memory", "update_memory"):
            assert is_refused(await surface.call(name, calls(memory["id"])[name] | {"importance": value}), "importance")
    assert await untouched(surface, memory)


@proves("input.wrong")
async def test_several_faults_are_told_at_once(surface: Surface):
    told = await surface.call("store_memory", {"agent_id": "", "content": "x" * 8001, "importance": "much"})
    assert sorted(line.partition(":")[0] for line in told.text.splitlines()) == [
        "agent_id", "content", "importance", "user_id",
    ]  # fmt: skip
    assert all(re.match(r"\w+: .+", line) for line in told.text.splitlines())
