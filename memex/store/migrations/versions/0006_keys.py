"""Keys by which callers repeat requests, and functions that heed them; before the code upgrade."""

from memex.store.migrations import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """A new table, and further forms of functions whose earlier forms stay."""
    run(__file__)
