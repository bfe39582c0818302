"""Whether a run can be believed: other tenants of the machine, and a run's two halves."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import psutil

STEAL_PERCENT = 2.0
HALVES_PERCENT = 10.0


class Noise(msgspec.Struct):
    """What disturbed a run. Filled in when the run ends."""

    seconds: float = 0.0
    steal_percent: float = 0.0
    """CPU time that the hypervisor gave to others while we wanted it, of all cores' time."""
    halves_percent: float = 0.0
    """How much the rates of the first and the second half differ, of the larger."""

    @property
    def reasons(self) -> list[str]:
        """Why the run is noisy; none if it is not."""
        found = []
        if self.steal_percent > STEAL_PERCENT:
            found.append(f"steal {self.steal_percent:.1f} %")
        if self.halves_percent > HALVES_PERCENT:
            found.append(f"halves differ by {self.halves_percent:.0f} %")
        return found


@contextmanager
def watched() -> Iterator[Noise]:
    """Steal time and length of what runs inside."""
    noise, begin, before = Noise(), time.perf_counter(), steal_seconds()
    try:
        yield noise
    finally:
        noise.seconds = round(time.perf_counter() - begin, 3)
        whole = noise.seconds * (psutil.cpu_count() or 1)
        noise.steal_percent = round(100 * (steal_seconds() - before) / whole, 2) if whole else 0.0


def steal_seconds() -> float:
    """CPU time stolen since the start of the machine, 0 where the system does not tell."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def halves_percent(finished: list[float], begin: float, end: float) -> float:
    """By how much the counts of `finished` (instants) before and after the middle differ, in percent of the larger."""
    middle = (begin + end) / 2
    first = sum(1 for instant in finished if begin <= instant < middle)
    second = sum(1 for instant in finished if middle <= instant < end)
    return round(100 * abs(first - second) / max(first, second, 1), 1)
