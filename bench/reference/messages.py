"""What goes over the wire, checked by pydantic as in the original."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field


class MemoryType(StrEnum):
    """The three kinds of memory."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class NewMemory(BaseModel):
    """Body of a write."""

    agent_id: str = Field(min_length=1, max_length=128)
    user_id: str = Field(min_length=1, max_length=128)
    content: str = Field(min_length=1, max_length=8000)
    importance: float = Field(default=1.0, ge=0.0, le=2.0)
    memory_type: MemoryType = MemoryType.EPISODIC


class Memory(BaseModel):
    """A stored memory; `score` only in answers of a search."""

    id: UUID
    agent_id: str
    user_id: str
    content: str
    importance: float
    memory_type: MemoryType
    created_at: datetime
    score: float | None = None


class Search(BaseModel):
    """Body of a search."""

    agent_id: str = Field(min_length=1, max_length=128)
    user_id: str = Field(min_length=1, max_length=128)
    query: str = Field(min_length=1, max_length=2000)
    top_k: int = Field(default=10, ge=1, le=50)
    alpha: float = Field(default=0.7, ge=0.0, le=1.0)
    memory_type: MemoryType | None = None


class Found(BaseModel):
    """Answer of a search, best first."""

    results: list[Memory]
    query: str
    total: int


class Count(BaseModel):
    """How many memories a user has with an agent."""

    agent_id: str
    user_id: str
    count: int
