"""Which Host and Origin names are ours, so that no web page can reach a local service by a name of its own."""

import ipaddress
import re
from collections.abc import Iterable

ANY = "*"
# host, or [IPv6]; then a port.
AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(:\d{1,5})?", re.ASCII)
ORIGIN = re.compile(r"https?://(.+)", re.ASCII)
MOST_REMEMBERED = 1024
LONGEST_REMEMBERED = 256


class Hosts:
    """Loopback names with any port, and those that the settings add."""

    def __init__(self, names: Iterable[str]) -> None:
        """A name with a port stands for that port only; `*` takes all, missing ones included."""
        self._names = frozenset(name.lower() for name in names)
        self._any = ANY in self._names
        self._known: dict[tuple[bytes | None, bytes | None], bool] = {}

    def welcome(self, host: bytes | None, origin: bytes | None) -> bool:
        """Whether a request with these headers may pass; None is a missing header."""
        if self._any:
            return True
        known = self._known.get((host, origin))
        if known is None:
            known = self._judge(host, origin)
            if len(self._known) < MOST_REMEMBERED and len(host or b"") + len(origin or b"") < LONGEST_REMEMBERED:
                self._known[host, origin] = known
        return known

    def _judge(self, host: bytes | None, origin: bytes | None) -> bool:
        if host is None or not self._ours(host.decode("latin-1")):
            return False
        if origin is None:
            return True
        named = ORIGIN.fullmatch(origin.decode("latin-1").lower())
        return named is not None and self._ours(named[1])

    def _ours(self, authority: str) -> bool:
        parts = AUTHORITY.fullmatch(authority.lower())
        if parts is None:
            return False
        name, port = parts[1], parts[2] or ""
        return name in self._names or name + port in self._names or is_loopback(name)


def is_loopback(name: str) -> bool:
    """`localhost` and names below it, 127.0.0.0/8 and ::1."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
