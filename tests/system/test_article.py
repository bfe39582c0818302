"""A script that was written for the routes under /api runs as it is, with the packaged model."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.fakes import PATIENCE
from tests.fixtures.process import Process

SCRIPT = Path(__file__).with_name("article.py")


def test_the_script_runs_unmodified_and_again_after_a_restart(serve: Callable[..., Process]):
    for _ in range(2):
        service = serve().ready()
        done = subprocess.run(
            [sys.executable, str(SCRIPT), service.url], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert service.stop() == 0
