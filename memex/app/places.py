"""Which of the workers a process is: the lowest place that no living worker holds."""

import fcntl
import os
from pathlib import Path

from memex.service.limits import Share


def claim(directory: str | None, workers: int) -> Share:
    """Takes a place for as long as the process lives; a worker started anew gets its forerunner's."""
    if directory is None:
        return Share()
    for index in range(workers):
        file = os.open(Path(directory) / f"place-{index}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
        else:
            return Share(index, workers)  # the file stays open: it is the claim
    return Share(workers - 1, workers)  # one more for a moment, while an old worker drains
