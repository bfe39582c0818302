"""Figures: what an agent may see of a user, counted, and how the process that answers is doing."""

from typing import Literal

import msgspec

from memex.model.fields import Id
from memex.model.searches import Agents


class StatsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose figures are asked for. Lists are given by repeating the parameter."""

    agent_id: Id | None = None
    """Who asks: all of its own memories are counted. With `user_id`, or neither."""
    user_id: Id | None = None
    """Whom they are about. With `agent_id`, or neither."""
    agents: Agents | Literal["*"] | None = None
    """Other agents whose shared memories about the user are counted too; `*` alone is every agent."""


class Kinds(msgspec.Struct, frozen=True):
    """Memories by type."""

    episodic: int = 0
    """What happened."""
    semantic: int = 0
    """Facts and preferences."""
    procedural: int = 0
    """How something is done."""


class Holdings(msgspec.Struct, frozen=True):
    """What an agent may see of a user, by state and type. What is deleted or has expired is not counted."""

    agent_id: str
    """Who asked."""
    user_id: str
    """Whom the memories are about."""
    total: int
    """All that are counted below."""
    active: Kinds
    """What is searched and listed."""
    archived: Kinds
    """What only `include_archived` and `as_of` find."""
    superseded: Kinds
    """What another memory took the place of."""


class ModelStats(msgspec.Struct, frozen=True):
    """What turns texts into vectors."""

    id: str
    """Name and revision: vectors of one id are comparable."""
    dimensions: int
    """Numbers in a vector, which an `embedding` of your own must have."""
    window: int
    """Tokens that it reads at once; longer texts are cut into overlapping chunks."""
    engine: str
    """What runs it: `native` or `onnxruntime`."""


class IndexStats(msgspec.Struct, frozen=True):
    """Spaces in memory; a space is all that is known about one user."""

    spaces: int
    """How many are in memory."""
    memories: int
    """How many memories they hold, those of every agent and state."""
    bytes: int
    """What they take."""
    capacity: int
    """What they and those being loaded may take at most, in bytes."""
    loading: int
    """How many are being loaded."""


class CacheStats(msgspec.Struct, frozen=True):
    """Vectors that are kept, so that a text met again is not embedded again."""

    entries: int
    """Texts whose vectors are kept."""
    bytes: int
    """What they take."""
    capacity: int
    """What they may take at most, in bytes; the least recently used go first."""


class QueueStats(msgspec.Struct, frozen=True):
    """What waits for the model."""

    texts: int
    """Chunks of texts that wait."""
    tokens: int
    """Their tokens."""
    seconds: float
    """How long the encoder threads will take for them, by their pace so far."""
    streams: int
    """How many encoder threads there are."""


class ProcessStats(msgspec.Struct, frozen=True):
    """How the worker process that answered is doing: with several workers, not the others. /metrics is of all."""

    worker: int
    """Which one it is, from 1."""
    workers: int
    """How many there are."""
    uptime_seconds: float
    """Since just before it took its first request."""
    index: IndexStats
    """Spaces in memory."""
    cache: CacheStats
    """Vectors that are kept."""
    queue: QueueStats
    """What waits for the model."""


class Stats(msgspec.Struct, frozen=True):
    """Counts for an agent that names itself and a user, or figures of the process for who names nobody."""

    version: str
    """Of memex."""
    model: ModelStats
    """What turns texts into vectors."""
    memories: Holdings | None
    """What the agent may see of the user; null where nobody was named."""
    process: ProcessStats | None
    """Of the process that answered; null where an agent was named, since it depends on what is others'."""
