"""REST as its OpenAPI document says: no answer of 500 or above, none that the document does not know."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.process import Process

ROOT = Path(__file__).parents[2]
SETTINGS = ROOT / "tests" / "system" / "contract" / "schemathesis.toml"


def explored(served: Process, *options: str) -> str:
    """What schemathesis says of a service; it finds nothing, in so many requests that it has been everywhere."""
    command = [sys.executable, "-m", "schemathesis.cli", "--no-color", "--config-file", str(SETTINGS)]
    done = subprocess.run(
        [*command, "run", f"{served.url}/openapi.json", *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_no_request_is_answered_otherwise_than_the_document_says(serve: Callable[..., Process]):
    """The same requests in every run; `make soak` has a run of others."""
    served = serve("--log-level", "error").ready()  # nobody reads the log meanwhile
    said = explored(served, "--seed", "1", "--generation-deterministic", "--max-examples", "8")
    routes = re.search(r"Tested: (\d+)", said)
    cases = re.search(r"([\d,]+) generated", said)
    assert routes
    assert cases
    assert (int(routes[1]) > 20, int(cases[1].replace(",", "")) > 1_000) == (True, True)
    with served.client() as client:
        assert 'status="5xx"' not in client.get("/metrics").text
    assert served.stop() == 0
    assert "Traceback" not in served.output()
