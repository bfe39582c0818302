"""A process that is killed in the middle: `python -m tests.store.backup_process backup|restore HOME FOLDER`."""

import os
import signal
import sys
from pathlib import Path

from memex.store.embedded import EmbeddedServer, restore


def killed(_: str, done: int, whole: int) -> None:
    """As by the kernel when memory is short, once half is done."""
    if 2 * done >= whole:
        os.kill(os.getpid(), signal.SIGKILL)


what, home, folder = sys.argv[1:]
if what == "backup":
    server = EmbeddedServer(Path(home))
    server.start()
    server.back_up(Path(folder), killed)
else:
    restore(Path(folder), Path(home), killed)
