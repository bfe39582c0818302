"""PostgreSQL: the only truth. The only package that names psycopg, and SQLAlchemy in `migrate` alone."""

from memex.store.composites import Change, Changed, Expiry, RequestKey, Stored, Text, Write, Written
from memex.store.keys import Keys
from memex.store.lists import Lists, Page, Paging, Tally
from memex.store.models import Models, StoredModel
from memex.store.narrowing import Narrowed
from memex.store.pool import Pool
from memex.store.ranking import Ranked, Rankings
from memex.store.reads import Changes, Found, Reads, Standing
from memex.store.removals import LEAST_ID, Removable, Removals
from memex.store.tombstones import Tombstones
from memex.store.writes import Writes

__all__ = [
    "LEAST_ID",
    "Change",
    "Changed",
    "Changes",
    "Expiry",
    "Found",
    "Keys",
    "Lists",
    "Models",
    "Narrowed",
    "Page",
    "Paging",
    "Pool",
    "Ranked",
    "Rankings",
    "Reads",
    "Removable",
    "Removals",
    "RequestKey",
    "Standing",
    "Stored",
    "StoredModel",
    "Tally",
    "Text",
    "Tombstones",
    "Write",
    "Writes",
    "Written",
]
