import os
import subprocess
import sys
from pathlib import Path

import pytest

# As the installed command: a script, which a spawned worker loads before anything else.
SCRIPT = """
import multiprocessing
import os

from memex.app import environment

if __name__ == "__main__":
    before = environment.shared_directory()
    environment.share_directory("ours")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(before, pool.apply(environment.shared_directory))
"""


@pytest.mark.parametrize("stray", [{}, {"PROMETHEUS_MULTIPROC_DIR": "stray"}])
def test_a_worker_of_the_installed_command_has_its_parents_directory_and_the_parent_no_stray_one(tmp_path, stray):
    script = tmp_path / "memex"
    script.write_text(SCRIPT)
    place = {"PYTHONPATH": str(Path(__file__).parents[3])}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS_")}
    found = subprocess.run(
        [sys.executable, str(script)], env=environment | place | stray, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["None", "ours"]
