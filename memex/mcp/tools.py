"""The tools as clients see them; `calls` performs them."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from memex.mcp import calls
from memex.mcp.arguments import Json
from memex.mcp.calls import Call, Told
from memex.mcp.keys import KEYED, NAME
from memex.model import DEFAULT_TOKENS, MAX_CONTENT, MAX_QUERY, MAX_TOKENS, MIN_TOKENS, MemoryType


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


def text(meaning: str, **rules: Any) -> Json:
    """The schema of a string."""
    return {"type": "string", "description": meaning, **rules}


AGENT = text("Your own name as an agent, always the same.")
USER = text("Whom it is about, always the same id.")
QUERY = text("A question or keywords, in any language.", maxLength=MAX_QUERY)
ID = text("Its id, from store_memory or search_memories.")
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
        run=calls.store,
    ),
    Tool(
        name="search_memories",
        title="Search memories",
        text="Recall what is known about a user: memories nearest to a question in meaning, words and recency.",
        properties={
            "agent_id": AGENT,
            "user_id": USER,
            "query": QUERY,
            "top_k": {"type": "integer", "description": "How many to return, 1 to 50.", "default": calls.TOP_K},
            "alpha": {
                "type": "number",
                "description": "0 to 1. 1: by relevance alone; 0: newest first.",
                "default": calls.ALPHA,
            },
            "memory_type": text("Only this type. Leave out for all.", enum=TYPE),
        },
        optional=("top_k", "alpha", "memory_type"),
        reads=True,
        repeatable=True,
        run=calls.search,
    ),
    Tool(
        name="get_context",
        title="Get a context",
        text="As search_memories, but one text of bounded length, with dates.",
        properties={
            "agent_id": AGENT,
            "user_id": USER,
            "query": QUERY,
            "max_tokens": {
                "type": "integer",
                "description": f"{MIN_TOKENS} to {MAX_TOKENS} for the whole text.",
                "default": DEFAULT_TOKENS,
            },
        },
        optional=("max_tokens",),
        reads=True,
        repeatable=True,
        run=calls.context,
    ),
    Tool(
        name="list_memories",
        title="List memories",
        text="Go through what is remembered about a user, newest first, e.g. of one day.",
        properties={
            "agent_id": AGENT,
            "user_id": USER,
            "created_after": text("ISO 8601: what happened then or later."),
            "created_before": text("ISO 8601: what happened before."),
            "limit": {"type": "integer", "description": "How many to return, 1 to 100.", "default": calls.LIMIT},
            "cursor": text("Of the page before, to go on."),
        },
        optional=("created_after", "created_before", "limit", "cursor"),
        reads=True,
        repeatable=True,
        run=calls.listed,
    ),
    Tool(
        name="get_memory",
        title="Get a memory",
        text="Read one memory by its id: its whole text and when it happened.",
        properties={"agent_id": AGENT, "memory_id": ID},
        reads=True,
        repeatable=True,
        run=calls.get,
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
        run=calls.update,
    ),
    Tool(
        name="delete_memory",
        title="Delete a memory",
        text="Forget one memory for ever, e.g. when it is wrong or the user asks for it.",
        properties={"agent_id": AGENT, "memory_id": ID, **KEYED},
        optional=(NAME,),
        destroys=True,
        repeatable=True,
        run=calls.delete,
    ),
    Tool(
        name="count_memories",
        title="Count memories",
        text="How many memories an agent holds of a user.",
        properties={"agent_id": AGENT, "user_id": USER},
        reads=True,
        repeatable=True,
        run=calls.count,
    ),
)
