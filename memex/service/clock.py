"""The database's clock, as near as this process knows it: times are stored by it, so ages are counted by it."""

import time


class StoreClock:
    """This machine's clock, moved by what the store's last answer showed."""

    def __init__(self) -> None:
        """Not moved until the first answer."""
        self._ahead = 0
        self.is_set = False

    def now(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1_000 + self._ahead

    def set(self, clock: int) -> None:
        """The store's clock just now, in microseconds since 1970."""
        self._ahead = clock - time.time_ns() // 1_000
        self.is_set = True
