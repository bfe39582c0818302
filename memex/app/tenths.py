"""Progress in the log, for what takes long and nobody watches."""

import logging
import time
from collections.abc import Callable

MEGABYTE = 1_000_000
LARGE = 10 * MEGABYTE
PAUSE = 3.0
"""Seconds: what is over sooner needs no line."""

log = logging.getLogger("memex")


def tenths(doing: str = "") -> Callable[[str, int, int], None]:
    """Takes a name and how many bytes of how many are done: a line for a tenth of what is large, or several at once.

    Between two lines, as before the first one, lie some seconds.
    """
    last: dict[str, int] = {}
    spoke = time.monotonic()

    def tell(name: str, done: int, whole: int) -> None:
        nonlocal spoke
        tenth, now = 10 * done // whole if whole > LARGE else 0, time.monotonic()
        if tenth > last.get(name, 0) and now - spoke >= PAUSE:
            log.info("%s%s: %d of %d MB", doing, name, done // MEGABYTE, whole // MEGABYTE)
            last[name], spoke = tenth, now

    return tell
