"""One caller's change of a space, by its kind: what it is sent as, and how the caller learns what became of it."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from memex.errors import MemexError, NotFound, VersionConflict
from memex.model import Memory, Space
from memex.store import composites, rows, wire
from memex.store.composites import Encoded, Stored, Written
from memex.store.queries import load

WRITE = load("write")
WRITE_MANY = load("write_many")
CHANGE = load("change")
DELETE = load("delete")

T = TypeVar("T")
Call = tuple[int, int, str]
Row = tuple[Any, ...]


class Member(msgspec.Struct, Generic[T], kw_only=True):
    """What every kind has: a space, and where the caller waits for its outcome."""

    statement: ClassVar[bytes]
    place: ClassVar[int]
    """Of two kinds in one space, the lower one goes first."""
    space: Space
    outcome: asyncio.Future[T]
    model_id: str = ""
    """Of the vectors, where there are any."""

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
        """Give each of `members` its own outcome, from the rows of the statement."""
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
        """The model, the rows, and which of them are for once."""
        encoded = composites.new_memories([member.encoded for member in members], oids)
        return (wire.text(self.model_id), encoded, wire.booleans([member.once for member in members]))

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """One row each, in their order."""
        for member, row in zip(members, found, strict=True):
            member.succeed(Written(rows.memory(member.space.user_id, row, 2), row[1]))


class Storing(Member[list[Stored]], kw_only=True):
    """Memories of one request to be stored, none of which is shown."""

    statement: ClassVar[bytes] = WRITE_MANY
    place: ClassVar[int] = 1
    encoded: list[Encoded]
    once: list[bool]
    """Of each, whether a text that the agent has is not stored again."""

    @property
    def size(self) -> int:
        """As many as there are."""
        return len(self.encoded)

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """As of single ones."""
        encoded = composites.new_memories([row for member in members for row in member.encoded], oids)
        return (wire.text(self.model_id), encoded, wire.booleans([once for member in members for once in member.once]))

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """One row for each row, in their order."""
        rest = iter(found)
        for member in members:
            member.succeed([Stored(row[2], row[1]) for row in islice(rest, member.size)])


class Changing(Member[Memory], kw_only=True):
    """A memory to be changed."""

    statement: ClassVar[bytes] = CHANGE
    place: ClassVar[int] = 2
    encoded: Encoded

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """The model, and the changes."""
        return (wire.text(self.model_id), composites.memory_changes([member.encoded for member in members], oids))

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """One row each, in their order: what the memory is now, or why it was left alone."""
        for member, row in zip(members, found, strict=True):
            if row[1] == "not_found":
                member.fail(NotFound())
            elif row[1] == "stale":
                member.fail(VersionConflict())
            else:
                member.succeed(rows.memory(member.space.user_id, row, 2))


class Deleting(Member[int], kw_only=True):
    """Memories of one agent to be deleted."""

    statement: ClassVar[bytes] = DELETE
    place: ClassVar[int] = 3
    agent_id: str
    ids: Sequence[bytes]

    @property
    def size(self) -> int:
        """As many as there are."""
        return len(self.ids)

    def parameters(self, members: Sequence[Self], oids: wire.Oids) -> tuple[wire.Wire, ...]:
        """Agents and ids, in their order."""
        agents = wire.texts([member.agent_id for member in members for _ in member.ids])
        return (agents, wire.uuids([memory_id for member in members for memory_id in member.ids]))

    def answer(self, members: Sequence[Self], found: Sequence[Row]) -> None:
        """How many of each were deleted. Of two who delete the same memory, one did."""
        deleted = {row[0] for row in found}
        for member in members:
            own = deleted.intersection(member.ids)
            deleted -= own
            member.succeed(len(own))
