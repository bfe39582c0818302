"""The use cases: what REST, MCP and the commands call."""

import msgspec

from memex.service.batches import Batches
from memex.service.contexts import Contexts
from memex.service.health import Health, HealthReport
from memex.service.limits import Allowance, Limiter, Share
from memex.service.listings import Listings
from memex.service.memories import Memories
from memex.service.outcomes import Batched
from memex.service.passages import Passages
from memex.service.questions import Questions, similarity
from memex.service.removals import Removals, Removed
from memex.service.search import Search
from memex.service.sharing import reading, scope
from memex.service.stats import Statistics
from memex.service.unindexed import Unindexed
from memex.service.upkeep import Upkeep
from memex.store import Changed


class Services(msgspec.Struct, frozen=True):
    """Everything that a surface may call."""

    memories: Memories
    batches: Batches
    listings: Listings
    removals: Removals
    search: Search
    contexts: Contexts
    statistics: Statistics
    limiter: Limiter
    health: Health


__all__ = [
    "Allowance",
    "Batched",
    "Batches",
    "Changed",
    "Contexts",
    "Health",
    "HealthReport",
    "Limiter",
    "Listings",
    "Memories",
    "Passages",
    "Questions",
    "Removals",
    "Removed",
    "Search",
    "Services",
    "Share",
    "Statistics",
    "Unindexed",
    "Upkeep",
    "reading",
    "scope",
    "similarity",
]
