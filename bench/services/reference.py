"""The re-created reference (bench/reference) of its own for one measurement: fresh data, a free port."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.services.running import Running, await_ready, data_home, free_port, process_of

ROOT = Path(__file__).parents[2]
MODEL = "REFERENCE_MODEL"
"""Environment variable: another ONNX graph than memex's own, with its tokenizer beside it."""


@contextmanager
def reference(home: Path | None = None, model: Path | None = None, workers: int = 4) -> Iterator[Running]:
    """Starts it, waits until every worker has loaded its model, stops it at the end; a `home` that was given is kept.

    `model` is an ONNX graph with its tokenizer beside it, by default memex's own file. With one from the environment
    the service goes by another name, so that results are told apart.
    """
    named = os.environ.get(MODEL)
    model = model or (Path(named) if named else None)
    with data_home(home, "reference-bench-") as folder:
        port = free_port()
        begin = time.perf_counter()
        with process_of(command(folder, port, model, workers), cwd=ROOT) as process:
            url = f"http://127.0.0.1:{port}"
            started_in = await_ready(process, f"{url}/health", begin)
            name = f"reference-{Path(named).stem}" if named else "reference"
            yield Running(name, url, folder, process, started_in)


def command(home: Path, port: int, model: Path | None, workers: int) -> list[str]:
    """How it is started."""
    options = ["--home", str(home.absolute()), "--port", str(port), "--workers", str(workers)]
    chosen = ["--model-file", str(model.absolute())] if model else []
    return [sys.executable, "-m", "bench.reference", *options, *chosen]
