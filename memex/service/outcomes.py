"""What became of the items of a batch, in bounded memory however many they are."""

from typing import Literal

import msgspec

from memex.errors import IdempotencyConflict, Invalid, MemexError, NotFound, Problem
from memex.model import BatchItem, BatchOutcome, BatchResult
from memex.store import Stored

MOST_PROBLEMS = 5
"""Shown of one item."""
MOST_IN_FULL = 1_000
"""Faulty items that are shown with what was sent; of later ones the first problem is named."""


class Batched(msgspec.Struct, frozen=True):
    """What a batch came to."""

    result: BatchResult
    replayed: bool
    """Whether all that it stored or found had been stored or found by an earlier one with the same key."""


class Outcomes:
    """In the order of the items."""

    def __init__(self) -> None:
        """None yet."""
        self._items: list[BatchOutcome] = []
        self._counts = dict.fromkeys(("stored", "duplicate", "invalid", "failed"), 0)
        self._faulty = 0
        self._anew = 0
        self._error: MemexError | None = None
        """The first one that made an item fail."""
        self._conflicts = 0

    def add(self, item: BatchItem, result: Stored | MemexError) -> None:
        """One more."""
        if isinstance(result, Stored):
            self._anew += not result.replayed
            self._append(item, "stored" if result.created else "duplicate", result.id)
        elif isinstance(result, Invalid):
            self._append(item, "invalid", None, self._shown(item, list(result.problems)))
        else:
            again = not isinstance(result, IdempotencyConflict | NotFound)
            self._error = self._error or (result if again else None)
            self._conflicts += isinstance(result, IdempotencyConflict)
            problem = Problem(result.code, ("body", item.index), result.message)
            self._append(item, "failed" if again else "invalid", None, [problem])

    def result(self) -> Batched:
        """All of them. Raises the first error where every item failed, IdempotencyConflict where each was another."""
        if self._error is not None and self._counts["failed"] == len(self._items):
            raise self._error
        if self._conflicts and self._conflicts == len(self._items):
            raise IdempotencyConflict
        done = self._counts["stored"] + self._counts["duplicate"]
        return Batched(BatchResult(**self._counts, items=self._items), replayed=bool(done) and not self._anew)

    def _append(
        self,
        item: BatchItem,
        status: Literal["stored", "duplicate", "invalid", "failed"],
        id_: str | None,
        problems: list[Problem] | None = None,
    ) -> None:
        self._counts[status] += 1
        self._items.append(BatchOutcome(item.index, status, id_, problems or [], item.line))

    def _shown(self, item: BatchItem, problems: list[Problem]) -> list[Problem]:
        """Problems at their places in the whole body."""
        self._faulty += 1
        if self._faulty > MOST_IN_FULL:
            problems = [msgspec.structs.replace(problems[0], input=None)]
        return [
            msgspec.structs.replace(problem, loc=("body", item.index, *problem.loc[1:]))
            for problem in problems[:MOST_PROBLEMS]
        ]
