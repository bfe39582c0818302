"""One caller's change of a space, by its kind: what it is sent as, and how the caller learns what became of it."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from memex.errors import IdempotencyConflict, MemexError, NotFound, VersionConflict
from memex.model import Space
from memex.store import composites, rows, wire
from memex.store.composites import Changed, Deleted, Encoded, RequestKey, Stored, Written
from memex.store.queries import load

WRITE = load("write")
WRITE_MANY = load("write_many")
CHANGE = load("change")
DELETE = load("delete")
DELETE_VERSION = load("delete_version")

T = TypeVar("T")
Call = tuple[int, int, str]
Row = tuple[Any, ...]

GONE = "What was asked for with this Idempotency-Key has been deleted since. Nothing was done; another key asks anew."
FAILURES: dict[str, Callable[[], MemexError]] = {
    "not_found": NotFound,
    "stale": VersionConflict,
    "conflict": IdempotencyConflict,
    "gone": lambda: NotFound(GONE),
}
"""Outcomes by which nothing was done."""


class Member(msgspec.Struct, Generic[T], kw_only=True):
    """What every kind has: a space, and where the caller waits for its outcome."""

    statement: ClassVar[bytes]
    place: ClassVar[int]
    """Of two kinds in one space, the lower one goes first."""
    space: Space
    outcome: asyncio.Future[T]
    model_id: str = ""
    """Of the vectors, where there are any."""
    key: RequestKey | None = None

    @property
    def size(self) -> int:
        """How many rows it is about."""
        return 1

    @property
    def call(self) -> Call:
        """Members of equal `call` are one statement. Sorted: two groups never wait for each other in a circle."""
        return (self.space.key, self.place, self.model_id)

    @property
    def keys(self) -> tuple[wire.Wire, wire.Wire, wire.Wire]:
        """The space, the first parameters of every statement."""
        return (wire.int8(self.space.key), wire.text(self.space.tenant_id), wire.text(self.space.user_id))

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """The others, of all `members` that share this one's call."""
        raise NotImplementedError

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """Give each of `members` its own outcome, from the rows of the statement, one each and in their order."""
        for member, row in zip(members, found, strict=True):
            if (failure := FAILURES.get(row[1])) is not None:
                member.fail(failure())
            else:
                member.succeed(member.told(row))

    def told(self, row: Row) -> T:
        """What this one's row says of what was done: place, outcome, whether it was done before, and what more."""
        raise NotImplementedError

    def fail(self, error: MemexError) -> None:
        """Tell the caller, if it still waits."""
        if not self.outcome.done():
            self.outcome.set_exception(error)

    def succeed(self, outcome: T) -> None:
        """Tell the caller, if it still waits."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class Writing(Member[Written], kw_only=True):
    """A memory to be stored."""

    statement: ClassVar[bytes] = WRITE
    place: ClassVar[int] = 0
    encoded: Encoded
    once: bool = False
    """Whether a text that the agent has is not stored again."""

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """The model, the rows, which of them are for once, and keys."""
        encoded = composites.new_memories([member.encoded for member in members], oids)
        once = wire.booleans([member.once for member in members])
        return (wire.text(self.model_id), encoded, once, keys_of(members, oids))

    def told(self, row: Row) -> Written:
        """The memory that is there."""
        return Written(rows.memory(self.space.user_id, row, 3), row[1] == "created", row[2])


class Storing(Member[list[Stored | MemexError]], kw_only=True):
    """Memories of one request to be stored, none of which is shown."""

    statement: ClassVar[bytes] = WRITE_MANY
    place: ClassVar[int] = 1
    encoded: list[Encoded]
    once: list[bool]
    """Of each, whether a text that the agent has is not stored again."""
    each_key: list[RequestKey | None]

    @property
    def size(self) -> int:
        """As many as there are."""
        return len(self.encoded)

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """As of single ones."""
        encoded = composites.new_memories([row for member in members for row in member.encoded], oids)
        once = wire.booleans([once for member in members for once in member.once])
        keys = composites.request_keys([key for member in members for key in member.each_key], oids)
        return (wire.text(self.model_id), encoded, once, keys)

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """One row for each row, in their order."""
        rest = iter(found)
        for member in members:
            member.succeed([stored(row) for row in islice(rest, member.size)])


class Changing(Member[Changed], kw_only=True):
    """A memory to be changed."""

    statement: ClassVar[bytes] = CHANGE
    place: ClassVar[int] = 2
    encoded: Encoded

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """The model, the changes, and keys."""
        encoded = composites.memory_changes([member.encoded for member in members], oids)
        return (wire.text(self.model_id), encoded, keys_of(members, oids))

    def told(self, row: Row) -> Changed:
        """What the memory is now."""
        return Changed(rows.memory(self.space.user_id, row, 3), row[2])


class Deleting(Member[Deleted], kw_only=True):
    """Memories of one agent to be deleted; with a key it is one."""

    statement: ClassVar[bytes] = DELETE
    place: ClassVar[int] = 3
    agent_id: str
    ids: Sequence[bytes]

    @property
    def size(self) -> int:
        """As many as there are."""
        return len(self.ids)

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """Agents, ids and keys, one of each for every memory."""
        each = [(member, memory_id) for member in members for memory_id in member.ids]
        agents = wire.texts([member.agent_id for member, _ in each])
        return (agents, wire.uuids([memory_id for _, memory_id in each]), keys_of([member for member, _ in each], oids))

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """How many of each were deleted. Of two who delete the same memory, one did."""
        rows_left = iter(found)
        for member in members:
            own = list(islice(rows_left, len(member.ids)))
            if any(row[1] == "conflict" for row in own):
                member.fail(IdempotencyConflict())
            else:
                count = sum(row[1] == "deleted" for row in own)
                member.succeed(Deleted(count, replayed=any(row[2] for row in own)))


class DeletingVersion(Member[Deleted], kw_only=True):
    """A memory to be deleted in certain versions."""

    statement: ClassVar[bytes] = DELETE_VERSION
    place: ClassVar[int] = 4
    agent_id: str
    memory_id: bytes
    encoded: Encoded
    """A change of nothing, which says in which versions."""

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """Agents, ids, keys and versions."""
        agents = wire.texts([member.agent_id for member in members])
        ids = wire.uuids([member.memory_id for member in members])
        return (agents, ids, keys_of(members, oids), composites.memory_changes([m.encoded for m in members], oids))

    def told(self, row: Row) -> Deleted:
        """That it is gone."""
        return Deleted(1, replayed=row[2])


def stored(row: Row) -> Stored | MemexError:
    """What became of one of many."""
    failure = FAILURES.get(row[1])
    return failure() if failure else Stored(row[3], row[1] == "created", row[2])


def keys_of(members: Sequence[Member[Any]], oids: wire.Oids) -> wire.Wire:
    """The keys of all, as one parameter."""
    return composites.request_keys([member.key for member in members], oids)
