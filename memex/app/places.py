"""Which of the workers a process is: the lowest place that no living worker holds."""

import fcntl
import os
from pathlib import Path

from memex.metrics import forget
from memex.service.limits import Share

LONGEST_PID = 20


def claim(directory: str | None, workers: int) -> Share:
    """Takes a place for as long as the process lives; a worker started anew gets its forerunner's."""
    if directory is None:
        return Share()
    for index in range(workers):
        if take(directory, index):
            return Share(index, workers)
    return Share(workers - 1, workers)  # one more for a moment, while an old worker drains


def take(directory: str, index: int) -> bool:
    """Whether the place was free. Who held it before has died, and with it what its gauges said."""
    file = os.open(Path(directory) / f"place-{index}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    if forerunner := os.pread(file, LONGEST_PID, 0):
        forget(directory, int(forerunner))
    os.ftruncate(file, 0)
    os.pwrite(file, str(os.getpid()).encode(), 0)
    return True  # the file stays open: it is the claim
