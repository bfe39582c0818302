"""The composition root: the only place that reads the environment and constructs the service."""

import multiprocessing
import os

# Where the workers of one service keep their metrics and claim their places; unset with one worker.
SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"

# prometheus-client looks at it once, when it is loaded. Only a parent of ours may tell a worker; a stray one would
# make a single worker keep its metrics in somebody else's files.
if multiprocessing.parent_process() is None:
    os.environ.pop(SHARED_DIRECTORY, None)
