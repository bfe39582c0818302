"""The composition root: the only place that reads the environment and constructs the service."""

import os
import sys

# Where the workers of one service keep their metrics and claim their places; unset with one worker.
SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"

# prometheus-client looks at it once, when it is loaded. Only a parent of ours may tell a worker; a stray one would
# make a single worker keep its metrics in somebody else's files. A spawned worker loads this before multiprocessing
# calls it one, where the command is a script; its own command line says so from the start.
if "--multiprocessing-fork" not in sys.orig_argv:
    os.environ.pop(SHARED_DIRECTORY, None)
