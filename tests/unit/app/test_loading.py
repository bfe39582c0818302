"""What a command loads: a client over stdio is greeted before the rest of memex is there."""

import subprocess
import sys

import pytest

HEAVY = {"alembic", "granian", "litestar", "numpy", "onnxruntime", "prometheus_client", "psycopg", "rich", "tokenizers"}
COMMANDS = ["memex.commands"]
GREETING = [*COMMANDS, "memex.app.stdio", "memex.mcp.server", "memex.mcp.stdio"]


def loaded(*modules: str) -> set[str]:
    """The libraries that come with modules of ours."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("modules", [COMMANDS, GREETING])
def test_what_greets_a_client_loads_no_library_that_it_does_not_need(modules: list[str]):
    found = loaded(*modules)
    assert "msgspec" in found
    assert found & HEAVY == set()
