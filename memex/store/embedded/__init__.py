"""The PostgreSQL that memex brings along: started, supervised and shared by the processes of one data directory."""

from memex.store.embedded.account import reachable
from memex.store.embedded.backup import Backup
from memex.store.embedded.cluster import Limits
from memex.store.embedded.restore import restore
from memex.store.embedded.server import Description, EmbeddedServer

__all__ = ["Backup", "Description", "EmbeddedServer", "Limits", "reachable", "restore"]
