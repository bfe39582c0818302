"""What memex must do whoever asks: each behaviour under an id that stays, and proved through REST and through MCP.

A test says what it proves by `@proves("an.id")`; `architecture/test_manifest.py` holds the two lists together.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


class Behaviour(NamedTuple):
    """One of them."""

    id: str
    says: str
    door: str = "both"
    """`both`, or the one surface that can show it: `rest` or `mcp`."""
    because: str = ""
    """Why one is enough."""


NO_TOOL = "no tool does that"
BEHAVIOURS = (
    Behaviour("store.at-once", "What is stored is found, listed and counted by the next call, what is deleted is not."),
    Behaviour("store.verbatim", "A text that looks like JSON, or has any letters, is stored as exactly that text."),
    Behaviour("store.once", "A call that is repeated with its key is done once."),
    Behaviour("update.at-once", "A changed memory is found by its new text alone."),
    Behaviour("update.keeps-the-rest", "A change resets nothing that it does not name: expiry, tags, times, sharing."),
    Behaviour("list.pages", "A list that is gone through page by page has each memory once, and says how many."),
    Behaviour("list.steady", "What is there all the time is listed once, whatever changes meanwhile.", "rest",
              "pages of the tool are the same statement; list.pages shows that it follows them"),
    Behaviour("delete.all-matches", "A delete by conditions deletes all matches, not a page of them.", "rest", NO_TOOL),
    Behaviour("delete.once", "A delete by conditions, repeated with its key, does what is left.", "rest", NO_TOOL),
    Behaviour("delete.says-what", "A delete that says too little, or wrong, deletes nothing.", "rest", NO_TOOL),
    Behaviour("batch.once", "A batch that is repeated with its key stores each item once.", "rest", NO_TOOL),
    Behaviour("batch.one-bad-item", "One bad item of a batch fails alone, with its place.", "rest", NO_TOOL),
    Behaviour("context.fits", "A context is whole memories within its tokens, or says what it cut and left out."),
    Behaviour("backup.everything", "A backup has every row of every table.", "rest", NO_TOOL),
    Behaviour("search.any-query", "Every query is answered, whatever marks are in it."),
    Behaviour("scope.own-alone", "Another agent or user neither finds, reads, counts, changes nor deletes a memory."),
    Behaviour("scope.tenant", "No call reaches another tenant, even if its space has the same key."),
    Behaviour("scope.names", "An id is a name: no mark in it, and no structure in its place, is read as more."),
    Behaviour("scope.spelling", "A scope under another name is refused, and never widens a call."),
    Behaviour("scope.elsewhere", "A scope in a header or in the wrong place is not one.", "rest",
              "a tool has one place for arguments"),
    Behaviour("scope.every-part", "No part of an answer, not even a number, depends on what others keep private."),
    Behaviour("scope.sharing", "What is shared is reached where it is asked for, through every route.", "rest",
              "no tool asks for what others share"),
    Behaviour("ids.awkward", "Ids with any marks name the same memory in every call."),
    Behaviour("input.nul", "A zero byte in any text is refused by the name of its field; nothing is stored."),
    Behaviour("input.half-characters", "So is half of a surrogate pair."),
    Behaviour("input.every-field", "So are both in every field of every route.", "rest", "fields that no tool has"),
    Behaviour("input.blank", "An empty or blank id or text is refused, and never stands for all."),
    Behaviour("input.wrong", "A wrong type, a missing or unknown name is refused by name, and the next call works."),
    Behaviour("input.numbers", "A number out of range is refused or moved into it, and reaches nobody."),
    Behaviour("answers.same-fields", "Every surface answers with the same fields."),
    Behaviour("answers.unmixed", "Answers to calls at once do not mix."),
    Behaviour("failures.not-empty", "What fails never looks like no memory."),
    Behaviour("failures.health", "Health says so when the database is away.", "rest", NO_TOOL),
    Behaviour("limits.same", "Rate limits are the same, and count together."),
    Behaviour("clients.hang-up", "A client that hangs up is no error, and leaves nothing behind."),
    Behaviour("metrics.counted", "Every call is counted and timed, as a request and as an operation."),
    Behaviour("metrics.bounded", "The number of series does not grow with users, and no label holds an id or a text."),
    Behaviour("memory.flat", "Thousands of calls leave the process no larger."),
    Behaviour("sessions.none", "A session id of before a restart, or of another process, is accepted and works.", "mcp",
              "REST has no sessions"),
    Behaviour("tools.typed", "Every argument has a type and a meaning, and the samples are valid.", "mcp",
              "/openapi.json is tested apart"),
)  # fmt: skip


def proves(*ids: str) -> Callable[[Test], Test]:
    """Marks a test. Raises ValueError for what is no behaviour."""
    if unknown := set(ids) - {behaviour.id for behaviour in BEHAVIOURS}:
        raise ValueError(f"not in the manifest: {unknown}")
    return lambda test: test
