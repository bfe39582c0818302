"""What is compiled into the native module is named with its licence."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREE = ["cargo", "tree", "--locked", "--package", "memex-native", "--features", "python"]
LINKED = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]


def test_every_linked_library_is_in_the_notices():
    done = subprocess.run([*TREE, *LINKED], cwd=ROOT, check=True, capture_output=True, text=True)
    linked = {line.split()[0] for line in done.stdout.splitlines()} - {"memex-native"}
    named = {line.split()[0] for line in (ROOT / "native" / "LICENSES.txt").read_text().splitlines() if line.strip()}
    assert {"pyo3", "safetensors"} <= linked
    assert linked <= named
