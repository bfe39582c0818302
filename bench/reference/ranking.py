"""The second ranking, in Python, over the rows that the database thought most similar."""

import math
from datetime import datetime

from bench.reference.messages import Memory
from bench.reference.storage import Candidate

HALF_LIFE_DAYS = 30.0
SPREAD = 3
MOST_CANDIDATES = 150
DAY = 86_400.0


def candidates_for(top_k: int) -> int:
    """How many rows are fetched to give `top_k`."""
    return min(SPREAD * top_k, MOST_CANDIDATES)


def score(similarity: float, age_days: float, alpha: float) -> float:
    """α · similarity + (1 − α) · 2^(−age / half-life), to four decimals; importance plays no part."""
    return round(alpha * similarity + (1 - alpha) * math.exp2(-age_days / HALF_LIFE_DAYS), 4)


def rerank(candidates: list[Candidate], alpha: float, top_k: int, now: datetime) -> list[Memory]:
    """The best `top_k` by score; equal scores stay in the order of similarity."""
    scored = [(score(row["similarity"], age_days(row["created_at"], now), alpha), row) for row in candidates]
    scored.sort(key=lambda pair: pair[0], reverse=True)
    return [memory(row, value) for value, row in scored[:top_k]]


def age_days(created: datetime, now: datetime) -> float:
    """Days between both, negative where the database's clock is ahead."""
    return (now - created).total_seconds() / DAY


def memory(row: Candidate, value: float | None = None) -> Memory:
    """A row as the client sees it."""
    return Memory(
        id=row["id"],
        agent_id=row["agent_id"],
        user_id=row["user_id"],
        content=row["content"],
        importance=row["importance"],
        memory_type=row["memory_type"],
        created_at=row["created_at"],
        score=value,
    )
