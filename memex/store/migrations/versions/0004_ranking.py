"""Functions of vectors for ranking by SQL; before the code upgrade."""

from memex.store.migrations import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """New functions only."""
    run(__file__)
