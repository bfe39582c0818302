"""Many new memories by one statement; before the code upgrade."""

from memex.store.migrations import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """A function in the place of its earlier form, and what it calls."""
    run(__file__)
