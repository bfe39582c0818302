"""The texts that wait for the encoder: searches before writes, and neither for ever."""

import asyncio
from collections import deque
from collections.abc import Iterable

from memex.embedder.encoder import Role, Tokens
from memex.embedder.vectors import Vector

# Writes passed over this often go next, so that they get at least every fifth forward pass.
PATIENCE = 4


class Work:
    """One token sequence, who waits for its vector, and since when (of perf_counter)."""

    __slots__ = ("future", "queued", "role", "tokens")

    def __init__(self, role: Role, tokens: Tokens, future: "asyncio.Future[Vector]", queued: float) -> None:
        self.role = role
        self.tokens = tokens
        self.future = future
        self.queued = queued


class Lanes:
    """First come, first served within a role. Not thread-safe: the batcher holds its lock."""

    def __init__(self, ragged: bool) -> None:
        """`ragged`: whether a batch may mix lengths."""
        self._ragged = ragged
        self._lanes: dict[Role, deque[Work]] = {role: deque() for role in Role}
        self._tokens = dict.fromkeys(Role, 0)
        self._passed_over = 0

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    @property
    def tokens(self) -> int:
        """Tokens that wait, of texts whose callers may have gone included."""
        return sum(self._tokens.values())

    def ahead(self, role: Role) -> int:
        """Tokens that go before a new text of that role."""
        return self._tokens[Role.QUERY] if role is Role.QUERY else self.tokens

    def add(self, works: Iterable[Work]) -> None:
        """Put at the end."""
        for work in works:
            self._lanes[work.role].append(work)
            self._tokens[work.role] += len(work.tokens)

    def prune(self) -> None:
        """Drop the texts whose callers have gone."""
        for role, lane in self._lanes.items():
            if any(work.future.done() for work in lane):
                self._refill(role, (work for work in lane if not work.future.done()))

    def take(self, budget: int) -> list[Work]:
        """The next batch: at most `budget` tokens unless one text alone is longer. Empty if nothing waits."""
        self.prune()
        role = self._turn()
        batch: list[Work] = []
        rest: list[Work] = []
        room = budget
        for work in self._lanes[role]:
            fits = not batch or (len(work.tokens) <= room and self._alike(work, batch[0]))
            (batch if fits else rest).append(work)
            room -= len(work.tokens) if fits else 0
        self._refill(role, rest)
        return batch

    def clear(self) -> list[Work]:
        """Everything that waits, which no longer does."""
        works = [work for lane in self._lanes.values() for work in lane]
        for role in Role:
            self._refill(role, ())
        return works

    def _turn(self) -> Role:
        """Whose batch is next. Counts how often waiting writes were passed over."""
        queries, passages = self._lanes[Role.QUERY], self._lanes[Role.PASSAGE]
        if passages and (not queries or self._passed_over >= PATIENCE):
            self._passed_over = 0
            return Role.PASSAGE
        self._passed_over = self._passed_over + 1 if passages else 0
        return Role.QUERY

    def _alike(self, work: Work, first: Work) -> bool:
        return self._ragged or len(work.tokens) == len(first.tokens)

    def _refill(self, role: Role, works: Iterable[Work]) -> None:
        self._lanes[role] = deque(works)
        self._tokens[role] = sum(len(work.tokens) for work in self._lanes[role])
