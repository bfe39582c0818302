"""Spaces, memories, vectors, tombstones, models and the functions that change them; before the code upgrade."""

from memex.store.migrations import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing to move: the first step."""
    run(__file__)
