"""Counts, times and logs each request, by route template: never by a raw path."""

import logging
from typing import Any

from memex.api.problems import CLIENT_GONE
from memex.logs import Flood
from memex.metrics import Metrics

log = logging.getLogger("memex.access")

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD = "OTHER"
UNMATCHED = "unmatched"
REFUSED = "refused"
"""The handler of what the door refuses before routing."""
BUSY = frozenset({429, 503})
"""Answers that say "later" come in floods, and a line for each would cost what refusing saves."""


class Traffic:
    """One process's requests. Children are bound once per method, route and status class."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._fine = metrics.request_seconds_fine
        self._counts: dict[tuple[str, str, str], Any] = {}
        self._times: dict[tuple[str, str], Any] = {}
        self._busy = Flood()
        self.begin = metrics.in_flight.inc
        self.end = metrics.in_flight.dec

    def served(self, method: str, handler: str, status: int, seconds: float) -> None:
        """One answered request."""
        self._count(method, handler, status)
        self._time(method, handler, seconds)
        self._fine.observe(seconds)
        self._tell(method, handler, status, seconds)

    def refused(self, method: str, code: str, status: int) -> None:
        """One request turned away at the door; not timed, or a flood of them would look like speed."""
        self._count(method, REFUSED, status)
        self._metrics.refused.labels(code).inc()
        log.debug("%s %s %d %s", method, REFUSED, status, code)

    def _count(self, method: str, handler: str, status: int) -> None:
        key = (known(method), grouped(status), handler)
        if (count := self._counts.get(key)) is None:
            count = self._counts[key] = self._metrics.requests.labels(*key)
        count.inc()

    def _time(self, method: str, handler: str, seconds: float) -> None:
        key = (known(method), handler)
        if (times := self._times.get(key)) is None:
            times = self._times[key] = self._metrics.request_seconds.labels(*key)
        times.observe(seconds)

    def _tell(self, method: str, handler: str, status: int, seconds: float) -> None:
        """Success is told at debug only: at thousands a second a line each costs more than the routing."""
        level = logging.DEBUG if status < 400 else logging.INFO if status < 500 else logging.WARNING
        if not log.isEnabledFor(level):
            return
        others = self._busy.next() if status in BUSY else ""
        if others is not None:
            log.log(level, "%s %s %d %.1f ms%s", method, handler, status, seconds * 1000, others)


def known(method: str) -> str:
    """The method as a label: clients may send any word."""
    return method if method in METHODS else OTHER_METHOD


def grouped(status: int) -> str:
    """`2xx`, …; a client that left is neither success nor failure."""
    return str(CLIENT_GONE) if status == CLIENT_GONE else f"{status // 100}xx"
