"""Numbered steps of the schema; each revision runs the SQL file beside it."""

from pathlib import Path

from alembic import op
from psycopg import Connection

FOLDER = Path(__file__).parent


def run(revision: str) -> None:
    """Run the SQL file of a revision; `revision` is the module's `__file__`.

    Straight through the driver: SQLAlchemy would read `:name` and `%` in it as parameters.
    """
    connection = op.get_bind().connection.driver_connection
    if not isinstance(connection, Connection):
        raise TypeError("migrations run on psycopg alone")
    connection.execute(Path(revision).with_suffix(".sql").read_bytes())
