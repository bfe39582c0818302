"""Starts the re-created service with a PostgreSQL of its own, on loopback.

python -m bench.reference --home PATH --port 8010
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import click
import uvicorn

from bench.reference import application, storage
from bench.reference.encoding import MODEL
from memex.store.embedded import EmbeddedServer


@click.command()
@click.option("--home", type=click.Path(file_okay=False, path_type=Path), required=True, help="Holds the database.")
@click.option("--port", default=8010, show_default=True)
@click.option("--workers", default=4, show_default=True)
@click.option(
    "--model-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar=application.MODEL,
    default=MODEL,
    help="An ONNX graph, with tokenizer.json or NAME-tokenizer.json beside it. Default: memex's own.",
)
def main(home: Path, port: int, workers: int, model_file: Path) -> None:
    """Serves until it is told to stop, then stops the database."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until uvicorn has its own handler
    server = EmbeddedServer(home)
    try:
        dsn = storage.dsn(server.start())
        asyncio.run(storage.prepare(dsn))
        told = {application.DATABASE: dsn, application.MODEL: str(model_file), application.WORKERS: str(workers)}
        os.environ.update(told)
        serve(port, workers)
    finally:
        server.stop()


def serve(port: int, workers: int) -> None:
    """Blocks. No access log: whether the original's figures were taken with one is not known."""
    uvicorn.run(
        "bench.reference.application:create",
        factory=True,
        host="127.0.0.1",
        port=port,
        workers=workers,
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main()
