"""pgvector in the embedded server: half-precision vectors, exact and by HNSW, cosines alone, one process."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.ranking.rivals import Best
from bench.ranking.space import Matrix, Space
from memex.store.embedded import EmbeddedServer

TABLE = "CREATE TEMP TABLE rows (id int, embedding halfvec({dimensions}))"
NEAREST = "SELECT id FROM rows ORDER BY embedding <#> %s::halfvec LIMIT {k}"
GRAPH = "CREATE INDEX ON rows USING hnsw (embedding halfvec_ip_ops)"


@contextmanager
def filled(space: Space) -> Iterator[psycopg.Connection]:
    """A connection to a new server whose table has the space's vectors."""
    with tempfile.TemporaryDirectory(prefix="memex-bench-") as home:
        server = EmbeddedServer(Path(home))
        try:
            with psycopg.connect(server.start(), autocommit=True) as connection:
                connection.execute("SET max_parallel_workers_per_gather = 0")
                connection.execute("SET maintenance_work_mem = '1GB'")
                connection.execute("SET temp_buffers = '2GB'")
                fill(connection, space.matrix)
                yield connection
        finally:
            server.stop()


def fill(connection: psycopg.Connection, matrix: Matrix) -> None:
    """Makes the table."""
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(TABLE.format(dimensions=matrix.shape[1]))
    with connection.cursor().copy("COPY rows FROM STDIN") as copy:
        for number, vector in enumerate(matrix):
            copy.write_row((number, text(vector)))
    connection.execute("ANALYZE rows")


def graph(connection: psycopg.Connection) -> None:
    """Searches go through HNSW from now on."""
    connection.execute(GRAPH)


def nearest(connection: psycopg.Connection, k: int) -> Best:
    """One statement a search."""
    statement = NEAREST.format(k=k)
    return lambda query: [number for (number,) in connection.execute(statement, (text(query),), prepare=True)]


def text(vector: Matrix) -> str:
    """As pgvector reads it."""
    return "[" + ",".join(map(str, vector.tolist())) + "]"
