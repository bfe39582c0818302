"""An index of what is shared; before the code upgrade."""

from memex.store.migrations import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Writers of memories wait while it is built."""
    run(__file__)
