"""Calls of tools: what each reads of its arguments, the one service call that it makes, and what it says."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from memex.errors import Invalid, NotFound
from memex.mcp import texts
from memex.mcp.arguments import Arguments, Json, real, whole
from memex.mcp.keys import apart
from memex.mcp.scopes import reading, scope
from memex.model import (
    MAX_PAGE,
    MAX_TOKENS,
    MAX_TOP_K,
    MIN_TOKENS,
    ContextQuery,
    Id,
    ListQuery,
    MemoryChange,
    NewMemory,
    SearchQuery,
    Target,
)
from memex.reading.faults import Faults

if TYPE_CHECKING:
    from memex.service import Services

TOP_K = 5
ALPHA = 0.7
LIMIT = 20


class Told(msgspec.Struct, frozen=True):
    """What a call comes to."""

    text: str
    """For the model."""
    content: Any
    """For programs: the struct or plain object that REST answers with."""
    failed: bool = False


class Call(msgspec.Struct, frozen=True):
    """One call of a tool."""

    services: "Services"
    arguments: Json
    lenient: bool
    """Whether unknown arguments are dropped instead of refused."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Which memory, and whose it must be."""

    agent_id: Id
    memory_id: UUID


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memories are counted, and whom they are about."""

    agent_id: Id
    user_id: Id


NEW = Arguments(
    NewMemory, ("agent_id", "user_id", "content", "memory_type", "importance"), {"importance": real(0.0, 2.0)}
)
QUERY = Arguments(
    SearchQuery,
    ("agent_id", "user_id", "query", "top_k", "alpha", "memory_type"),
    {"top_k": whole(1, MAX_TOP_K), "alpha": real(0.0, 1.0)},
    {"top_k": TOP_K, "alpha": ALPHA},
)
QUESTION = Arguments(
    ContextQuery, ("agent_id", "user_id", "query", "max_tokens"), {"max_tokens": whole(MIN_TOKENS, MAX_TOKENS)}
)
LIST = Arguments(
    ListQuery,
    ("agent_id", "user_id", "created_after", "created_before", "limit", "cursor"),
    {"limit": whole(1, MAX_PAGE)},
)
ADDRESS = Arguments(Address, ("agent_id", "memory_id"))
CHANGE = Arguments(MemoryChange, ("content", "importance"), {"importance": real(0.0, 2.0)})
HOLDING = Arguments(Holding, ("agent_id", "user_id"))
ADDRESSED = frozenset({"agent_id", "memory_id"})


async def store(call: Call) -> Told:
    """Durable when it answers."""
    faults = Faults(call.arguments)
    asked, key = apart(call.arguments, faults)
    new = NEW.collect(asked, faults, lenient=call.lenient)
    if faults.problems:
        raise Invalid(faults.problems)
    written = await call.services.memories.add(scope(new.agent_id), new, key)
    return Told(texts.stored(written.memory), written.memory)


async def search(call: Call) -> Told:
    """The best hits, best first."""
    query = QUERY.read(call.arguments, lenient=call.lenient)
    result = await call.services.search.run(scope(query.agent_id), query)
    return Told(texts.found(query.agent_id, query.user_id, result), result)


async def context(call: Call) -> Told:
    """What is remembered as one text, which is what the model reads."""
    query = QUESTION.read(call.arguments, lenient=call.lenient)
    packet = await call.services.contexts.run(scope(query.agent_id), query)
    return Told(packet.text or texts.nothing(query.agent_id, query.user_id, query.query), packet)


async def listed(call: Call) -> Told:
    """One page, the newest first."""
    query = LIST.read(call.arguments, lenient=call.lenient)
    page = await call.services.listings.page(scope(query.agent_id), query)
    return Told(texts.listed(query.agent_id, query.user_id, page), page)


async def get(call: Call) -> Told:
    """One memory, archived or not."""
    address = ADDRESS.read(call.arguments, lenient=call.lenient)
    with found(call):
        memory = await call.services.memories.read(reading(address.agent_id, None), address.memory_id, None)
    return Told(texts.shown(memory), memory)


async def update(call: Call) -> Told:
    """What the memory is now; what it was stays in its history."""
    faults = Faults(call.arguments)
    asked, key = apart(call.arguments, faults)
    where = {name: value for name, value in asked.items() if name in ADDRESSED}
    address = ADDRESS.collect(where, faults, lenient=False)
    rest = {name: value for name, value in asked.items() if name not in ADDRESSED}
    change = CHANGE.collect(rest, faults, lenient=call.lenient)
    if faults.problems:
        raise Invalid(faults.problems)
    with found(call):
        changed = await call.services.memories.change(scope(address.agent_id), Target(address.memory_id), change, key)
    return Told(texts.updated(changed.memory), changed.memory)


async def delete(call: Call) -> Told:
    """Gone for ever, with its history."""
    faults = Faults(call.arguments)
    asked, key = apart(call.arguments, faults)
    address = ADDRESS.collect(asked, faults, lenient=call.lenient)
    if faults.problems:
        raise Invalid(faults.problems)
    with found(call):
        await call.services.memories.delete(scope(address.agent_id), Target(address.memory_id), key)
    return Told(texts.deleted(str(call.arguments["memory_id"])), {"id": str(address.memory_id), "deleted": True})


@contextmanager
def found(call: Call) -> Iterator[None]:
    """That there is no such memory is said with the id as it was given, as clients of the reference know it."""
    try:
        yield
    except NotFound as error:
        given, agent = str(call.arguments["memory_id"]), str(call.arguments["agent_id"])
        raise NotFound(texts.not_found(given, agent)) from error


async def count(call: Call) -> Told:
    """How many there are."""
    holding = HOLDING.read(call.arguments, lenient=call.lenient)
    counted = await call.services.memories.count(scope(holding.agent_id), holding.user_id)
    return Told(texts.counted(counted), counted)
