"""PostgreSQL: the only truth. The only package that names psycopg, and SQLAlchemy in `migrate` alone."""

from memex.store.models import Models, StoredModel
from memex.store.pool import Pool
from memex.store.ranking import Ranked, Rankings
from memex.store.reads import Changes, Found, Reads, Standing
from memex.store.rows import Write, Written
from memex.store.tombstones import Tombstones
from memex.store.writes import Writes

__all__ = [
    "Changes",
    "Found",
    "Models",
    "Pool",
    "Ranked",
    "Rankings",
    "Reads",
    "Standing",
    "StoredModel",
    "Tombstones",
    "Write",
    "Writes",
    "Written",
]
