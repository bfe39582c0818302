"""Keys of deletions by conditions, which go part by part; before the code upgrade."""

from memex.store.migrations import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """A new table, and its functions."""
    run(__file__)
