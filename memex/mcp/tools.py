"""The tools: what each takes, and the one service call that it makes."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from memex.errors import Invalid, NotFound
from memex.mcp import texts
from memex.mcp.arguments import Arguments, Json, real, whole
from memex.mcp.keys import KEYED, NAME, apart
from memex.mcp.scopes import reading, scope
from memex.model import MAX_CONTENT, MAX_QUERY, MAX_TOP_K, Id, MemoryChange, MemoryType, NewMemory, SearchQuery, Target
from memex.reading.faults import Faults

if TYPE_CHECKING:
    from memex.service import Services

TOP_K = 5
ALPHA = 0.7


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


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as clients see it, and what performs it."""

    name: str
    title: str
    text: str
    """When to use it, for the model."""
    properties: dict[str, Json]
    """Argument → JSON schema."""
    optional: tuple[str, ...] = ()
    """Arguments that may be left out."""
    reads: bool = False
    """Whether it changes nothing."""
    destroys: bool = False
    """Whether something may be lost."""
    repeatable: bool = False
    """Whether calling it again changes nothing more."""
    run: Callable[[Call], Awaitable[Told]]

    @property
    def schema(self) -> Json:
        """Of all arguments together."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": [name for name in self.properties if name not in self.optional],
            "additionalProperties": False,
        }


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
ADDRESS = Arguments(Address, ("agent_id", "memory_id"))
CHANGE = Arguments(MemoryChange, ("content", "importance"), {"importance": real(0.0, 2.0)})
HOLDING = Arguments(Holding, ("agent_id", "user_id"))


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
        await call.services.memories.delete(scope(address.agent_id), address.memory_id, None, key)
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


def text(meaning: str, **rules: Any) -> Json:
    """The schema of a string."""
    return {"type": "string", "description": meaning, **rules}


AGENT = text("Agent whose memory this is, e.g. your own name. Use the same one always.")
USER = text("User the memory is about. Use the same id always.")
ID = text("Its id, from store_memory or search_memories.")
ADDRESSED = frozenset({"agent_id", "memory_id"})
TYPE = [kind.value for kind in MemoryType]

TOOLS = (
    Tool(
        name="store_memory",
        title="Store a memory",
        text="Remember one fact, preference, event or procedure for later sessions. Returns its id.",
        properties={
            "agent_id": AGENT,
            "user_id": USER,
            "content": text("What to remember: one thing, understandable by itself.", maxLength=MAX_CONTENT),
            "memory_type": text(
                "episodic: what happened; semantic: facts and preferences; procedural: how to do something.",
                enum=TYPE,
                default=MemoryType.EPISODIC.value,
            ),
            "importance": {
                "type": "number",
                "description": "0 to 2. Above 1: rank it higher; below 1: lower.",
                "default": 1.0,
            },
            **KEYED,
        },
        optional=("memory_type", "importance", NAME),
        run=store,
    ),
    Tool(
        name="search_memories",
        title="Search memories",
        text="Recall what is known about a user: the memories nearest to a question in meaning, words and recency.",
        properties={
            "agent_id": AGENT,
            "user_id": USER,
            "query": text("A question or keywords, in any language.", maxLength=MAX_QUERY),
            "top_k": {"type": "integer", "description": "How many to return, 1 to 50.", "default": TOP_K},
            "alpha": {
                "type": "number",
                "description": "0 to 1. 1: by relevance alone; 0: newest first.",
                "default": ALPHA,
            },
            "memory_type": text("Only memories of this type. Leave out for all.", enum=TYPE),
        },
        optional=("top_k", "alpha", "memory_type"),
        reads=True,
        repeatable=True,
        run=search,
    ),
    Tool(
        name="get_memory",
        title="Get a memory",
        text="Read one memory by its id: its whole text and when it happened.",
        properties={"agent_id": AGENT, "memory_id": ID},
        reads=True,
        repeatable=True,
        run=get,
    ),
    Tool(
        name="update_memory",
        title="Update a memory",
        text="Correct a memory instead of storing a second one. What it was stays in its history.",
        properties={
            "agent_id": AGENT,
            "memory_id": ID,
            "content": text("The new text. Leave out to keep it.", maxLength=MAX_CONTENT),
            "importance": {"type": "number", "description": "0 to 2, neutral 1. Leave out to keep it."},
            **KEYED,
        },
        optional=("content", "importance", NAME),
        repeatable=True,
        run=update,
    ),
    Tool(
        name="delete_memory",
        title="Delete a memory",
        text="Forget one memory for ever, e.g. when it is wrong or the user asks for it.",
        properties={"agent_id": AGENT, "memory_id": ID, **KEYED},
        optional=(NAME,),
        destroys=True,
        repeatable=True,
        run=delete,
    ),
    Tool(
        name="count_memories",
        title="Count memories",
        text="How many memories an agent holds of a user.",
        properties={"agent_id": AGENT, "user_id": USER},
        reads=True,
        repeatable=True,
        run=count,
    ),
)
