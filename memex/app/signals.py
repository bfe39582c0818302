"""A worker is told once to stop, however many tell it.

Called again while it is at work, Granian's handler can wait for itself for ever: it holds the
interpreter and waits for a thread that wants it. A terminal signals the whole group and a service
manager every process, and then the parent tells its workers too.
"""

import asyncio
import os
import signal


def leave_the_group() -> None:
    """What a terminal or a shell sends to the parent's group does not reach this worker: its parent tells it."""
    os.setpgid(0, 0)


def stop_once() -> None:
    """From now on only the first SIGTERM counts. Call it in the running event loop, after Granian's own set-up.

    Granian's handler stays on SIGINT, which nobody sends to a group of its own, and the first SIGTERM goes there.
    """
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.add_signal_handler(signal.SIGTERM, lambda: None)
        os.kill(os.getpid(), signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, first)
