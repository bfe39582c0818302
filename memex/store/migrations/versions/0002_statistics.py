"""Statistics of `memories` and `models` before they have rows; before the code upgrade."""

from memex.store.migrations import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Nothing changes but what the planner believes."""
    run(__file__)
