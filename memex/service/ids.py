"""Identifiers made by the service, so that a retry inside one request cannot store twice."""

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """A time-ordered UUID (RFC 9562, version 7): 48 bits of milliseconds, 74 random bits."""
    millis = time.time_ns() // 1_000_000
    value = (millis << 80) | int.from_bytes(os.urandom(10))
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=value | (0x7 << 76) | (0x2 << 62))
