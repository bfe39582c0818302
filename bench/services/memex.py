"""A memex of its own for one measurement: fresh data, a free port, rate limits off."""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.services.running import Running, await_ready, data_home, free_port, process_of

LIMITS = {"RATE_LIMIT_WRITES_PER_MINUTE": "0", "RATE_LIMIT_SEARCHES_PER_MINUTE": "0", "MEMEX_LOG_LEVEL": "warning"}

ELSEWHERE = {"DATABASE_URL", "MEMEX_DATABASE_URL", "MEMEX_HOME"}
"""Settings that would put the data where others are."""


@contextmanager
def memex(home: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Starts memex, waits until it is ready, stops it at the end; a `home` that was given is kept.

    `settings` are environment variables beside those that turn the rate limits off.
    """
    with data_home(home, "memex-bench-") as folder:
        port = free_port()
        begin = time.perf_counter()
        command = [sys.executable, "-m", "memex", "serve", "--port", str(port), "--data-dir", str(folder)]
        own = {name: value for name, value in os.environ.items() if name.upper() not in ELSEWHERE}
        # In its own folder: no `.env` of whoever measures is read.
        with process_of(command, cwd=folder, env={**own, **LIMITS, **(settings or {})}) as process:
            url = f"http://127.0.0.1:{port}"
            started_in = await_ready(process, f"{url}/readyz", begin)
            yield Running("memex", url, folder, process, started_in)
