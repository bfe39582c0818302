"""CPU time of processes, those that have ended included."""

import subprocess
import sys

import psutil

from bench.services.running import cpu_seconds

SPENDING = "import time\nwhile time.process_time() < 0.2: pass"


def test_a_child_that_has_ended_still_counts():
    own = psutil.Process()
    before, parent = cpu_seconds([own]), own.cpu_times()
    subprocess.run([sys.executable, "-c", SPENDING], check=True)
    used, now = cpu_seconds([own]) - before, own.cpu_times()
    assert used - (now.user + now.system - parent.user - parent.system) >= 0.15


def test_a_process_that_is_gone_does_not_end_the_run():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    seen = psutil.Process(gone.pid)
    gone.wait()
    assert cpu_seconds([seen]) == 0.0
