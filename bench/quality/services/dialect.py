"""What a runner has to know of a memory service's HTTP API."""

from typing import Any, Protocol

import click
import msgspec

from bench.quality.dataset import Memory

Body = dict[str, Any]


class WrongAnswer(click.ClickException):
    """The service answered in a way that makes every figure of this run worthless; the command ends with it."""


class Call(msgspec.Struct, frozen=True):
    """One POST."""

    path: str
    body: Body


class Hit(msgspec.Struct, frozen=True):
    """One result: the id that storing gave, and its score, higher is better, None where the service tells none."""

    id: str
    score: float | None


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a service can do."""

    name: str
    modes: tuple[str, ...] = ("default",)
    """Its ways of ranking; `default` where there is one only and it is not plainly one of the others."""
    longest: int | None = None
    """Characters of the longest text that it takes."""
    separates_users: bool = True
    complete: bool = True
    """Whether a search for k gives k wherever there are so many."""
    tie: float = 0.0
    """How much a hit's score may be above that of the hit before it: equal ones may be ordered by something else."""
    indexes_later: bool = False
    """Whether a memory may be found only some time after storing it was answered."""
    key_header: str = "Authorization"
    """The header that takes an API key."""


class Dialect(Protocol):
    """Requests and answers of one service. A service is asked for relevance alone wherever it lets one choose."""

    traits: Traits

    def store(self, memory: Memory) -> Call:
        """Stores one memory as it is."""

    def stored_id(self, answer: Body, sent: Body) -> str:
        """The id that a search will name it by."""

    def search(self, user: str, text: str, k: int, mode: str) -> Call:
        """Asks for the best `k` of a user."""

    def hits(self, answer: Body) -> list[Hit]:
        """The results, best first."""
