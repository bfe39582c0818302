"""Being told to stop, however many tell it and however often.

A terminal signals the whole group, a service manager every process, and then the parent tells its workers too.
Granian's handlers can wait for themselves for ever when they are called again while they are at work: in a worker it
holds the interpreter and waits for a thread that wants it, in the parent it takes a lock twice.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from queue import SimpleQueue
from threading import Thread
from types import FrameType

STOPS = (signal.SIGTERM, signal.SIGINT)


def stop_cleanly(code: int = 0) -> None:
    """Until something else handles signals, they unwind the stack, so that what was started is stopped.

    `code` is the exit code then: to stop is what a service is meant to do, and a command of which work is left is not.
    """

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(code)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def hold() -> None:
    """What tells this worker to stop waits until `stop_once`, as one signal however often it came.

    Call it first, in the main thread: threads that start later hold it too. What a terminal or a shell sends to the
    parent's group does not come here from now on, and what came (see `quiet`) is forgotten: the parent passes it on.
    """
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops the one that waits
    signal.signal(signal.SIGINT, before)


@contextmanager
def quiet() -> Iterator[None]:
    """For the parent: processes that the body starts hold SIGINT from their first instruction, and so does this one.

    Until it has handlers a worker would print where it was. SIGTERM ends it without a word.
    """
    resource_tracker.ensure_running()  # it would let SIGINT through again as it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop_once() -> None:
    """From now on the first SIGTERM counts and no other. Call it in the running event loop.

    Granian has put its handler on both signals by then. It stays on SIGINT, which nobody sends to a group of its own,
    and the first SIGTERM goes there.
    """
    told = asyncio.Event()

    def first() -> None:
        # Signals that came close together are calls that wait in the loop already: another handler would be too late.
        if not told.is_set():
            told.set()
            os.kill(os.getpid(), signal.SIGINT)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, first)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def deferred(handler: Callable[[], None]) -> Callable[..., None]:
    """For the parent: a signal handler that may interrupt itself. A thread calls `handler`, which takes locks."""
    calls: SimpleQueue[None] = SimpleQueue()  # the one queue that may be put into while it is put into

    def work() -> None:
        while True:
            calls.get()
            handler()

    Thread(target=work, name="signals", daemon=True).start()
    return lambda *_: calls.put(None)
