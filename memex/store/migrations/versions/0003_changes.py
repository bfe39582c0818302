"""Earlier versions of memories, and the functions that change one or write each text once; before the code upgrade."""

from memex.store.migrations import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nothing to move: no memory has been changed yet."""
    run(__file__)
