"""Progress in the log, for what takes long and nobody watches."""

import logging
from collections.abc import Callable

MEGABYTE = 1_000_000
LARGE = 10 * MEGABYTE

log = logging.getLogger("memex")


def tenths(doing: str = "") -> Callable[[str, int, int], None]:
    """Takes a name and how many bytes of how many are done: a line for each tenth of what is large."""
    last: dict[str, int] = {}

    def tell(name: str, done: int, whole: int) -> None:
        tenth = 10 * done // whole if whole > LARGE else 0
        if tenth > last.get(name, 0):
            log.info("%s%s: %d of %d MB", doing, name, done // MEGABYTE, whole // MEGABYTE)
        last[name] = tenth

    return tell
