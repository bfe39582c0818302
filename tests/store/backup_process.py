"""A process that is signalled in the middle: `python -m tests.store.backup_process WHAT HOME FOLDER SIGNAL`."""

import os
import signal
import sys
from pathlib import Path

from memex.app.signals import stop_cleanly
from memex.store.embedded import EmbeddedServer, restore


def halfway(_: str, done: int, whole: int) -> None:
    """Signals this process, as others would, once half is done."""
    if 2 * done >= whole:
        os.kill(os.getpid(), number)


what, home, folder = sys.argv[1:4]
number = signal.Signals[sys.argv[4]]
stop_cleanly(1)
if what == "backup":
    server = EmbeddedServer(Path(home))
    try:
        server.start()
        server.back_up(Path(folder), halfway)
    finally:
        server.stop()
else:
    restore(Path(folder), Path(home), halfway)
