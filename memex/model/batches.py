"""Many memories stored by one request, and what becomes of each."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from memex.errors import Problem
from memex.model.memories import NewMemory

MAX_BATCH = 1_000
MAX_STREAMED = 100_000


class BatchItem(msgspec.Struct, frozen=True):
    """One item as it was read."""

    index: int
    line: int | UnsetType
    memory: NewMemory | None
    """None where it is not valid."""
    problems: Sequence[Problem] = ()


class BatchOutcome(msgspec.Struct, frozen=True, gc=False):
    """What became of one item."""

    index: int
    """Which item, from 0; blank lines are none."""
    status: Literal["stored", "duplicate", "invalid", "failed"]
    """`duplicate`: it was there. `failed`: nothing is wrong with it; try again."""
    id: str | None
    """Of its memory, or of the one that was there; null where there is none."""
    errors: list[Problem] = []
    """What was wrong."""
    line: int | UnsetType = UNSET
    """Only of a stream: its line, from 1."""


class BatchResult(msgspec.Struct, frozen=True):
    """What became of all items."""

    stored: int
    """How many are new."""
    duplicate: int
    """How many were there already, by their external id or, with `on_duplicate`, their text."""
    invalid: int
    """How many are not valid."""
    failed: int
    """How many could not be stored; sent again they may be."""
    items: list[BatchOutcome]
    """Each of them, in the order in which they were sent."""
