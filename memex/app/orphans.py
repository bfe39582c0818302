"""A worker does not outlive its parent: it would keep the port and nobody would supervise it."""

import multiprocessing
import os
import signal
import threading


def follow_parent() -> None:
    """Ends this worker as SIGTERM does, as soon as the process that started it is gone."""
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_follow, args=(parent,), name="follow-parent", daemon=True).start()


def _follow(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
