"""Times as callers write them, to aware datetimes in UTC."""

import re
from datetime import UTC, datetime, timedelta

import msgspec

from memex.model import EPOCH

# A number above this (the year 2603 in seconds, August 1970 in milliseconds) is milliseconds: pydantic's rule.
MILLISECONDS_ABOVE = 2e10
ISO = re.compile(r"\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([Zz]|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII)
# Shorter numeric text is refused: "20240501" or "2024" would silently become a day of 1970.
NUMERIC = re.compile(r"[+-]?\d{9,}(\.\d+)?", re.ASCII)


def moment(value: str | float) -> datetime:
    """Epoch seconds or milliseconds, numeric text of them, or ISO 8601: without offset UTC, a date is its midnight.

    Raises ValueError for anything else and for what falls outside of the years 1 to 9999.
    """
    if not isinstance(value, str):
        return from_epoch(value)
    stripped = value.strip()
    if NUMERIC.fullmatch(stripped):
        return from_epoch(float(stripped) if "." in stripped else int(stripped))
    if not ISO.fullmatch(stripped):
        raise ValueError("not ISO 8601")
    return in_utc(parsed(stripped))


def parsed(value: str) -> datetime:
    """By the decoder of the fast path where it can, so that both paths read one text alike."""
    try:
        return msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        return datetime.fromisoformat(value.upper())


def from_epoch(value: float) -> datetime:
    """Seconds, or milliseconds above the threshold, to the microsecond; exact for integers."""
    unit = "milliseconds" if abs(value) > MILLISECONDS_ABOVE else "seconds"
    try:
        return EPOCH + timedelta(**{unit: value})
    except OverflowError as error:
        raise ValueError("out of range") from error


def in_utc(value: datetime) -> datetime:
    """The same instant in UTC; without offset it is UTC already. Raises ValueError outside of the years 1 to 9999."""
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("out of range") from error
