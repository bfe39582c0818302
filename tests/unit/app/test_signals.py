"""What a signal leads to is done elsewhere than where it interrupted."""

import signal
import threading

from memex.app.signals import deferred
from tests.fixtures.waiting import PATIENCE


def test_a_handler_never_waits_for_what_it_interrupted():
    lock, calls, twice = threading.Lock(), [0], threading.Event()

    def handler() -> None:
        with lock:
            calls[0] += 1
        if calls[0] == 2:
            twice.set()

    before = signal.signal(signal.SIGUSR1, deferred(handler))
    try:
        with lock:
            # Both arrive while this thread holds what the handler wants: called here, it would wait for ever.
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
            assert calls == [0]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert twice.wait(PATIENCE)
