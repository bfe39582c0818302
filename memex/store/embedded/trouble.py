"""What the server's own log says of a failed start, as one of our errors."""

import re
from collections.abc import Iterable
from pathlib import Path

from memex.errors import DatabaseUnreachable, HomeUnusable, StartupError

REASON = re.compile(r"(?:FATAL|PANIC|ERROR|error|fatal):\s+(?P<reason>.*)")
QUOTED_PATH = re.compile(r'(["\'])/(?:[^"\']*/)?([^"\'/]*)\1')
BARE_PATH = re.compile(r"(?<![\w/])/(?:[^\s:\"']*/)([^\s/:\"']*)")
LABELLED = re.compile(r"(?:^|\s)(?:DEBUG\d?|LOG|INFO|NOTICE|WARNING|DETAIL|HINT|CONTEXT|STATEMENT|LOCATION):\s")
LAST_LINES = 3
TAIL_BYTES = 16 * 1024
NO_REASON = "it gave no reason"


def explained(doing: str, logs: Iterable[Path]) -> StartupError:
    """The error for a start or an `initdb` that failed while `doing`; `logs` from the most telling on."""
    texts = [tail(log) for log in logs]
    reasons = (*map(last_reason, texts), *map(last_words, texts))
    reason = next(filter(None, reasons), NO_REASON)
    if "No space left on device" in reason:
        return HomeUnusable("The disk of the data directory is full: free some space, then start memex again.")
    if "Permission denied" in reason or "Read-only file system" in reason:
        return HomeUnusable(f"The embedded PostgreSQL may not use its data directory: {reason}.")
    return DatabaseUnreachable(f"The embedded PostgreSQL failed while {doing}: {reason}.")


def tail(log: Path) -> str:
    """The end of one log file, or nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def last_reason(text: str) -> str:
    """The last complaint in a log, without the paths of this machine; empty where there is none."""
    reasons = [found["reason"] for line in text.splitlines() if (found := REASON.search(line))]
    return without_paths(reasons[-1]).strip().rstrip(".") if reasons else ""


def last_words(text: str) -> str:
    """What a program said without a mark before it gave up, on one line, as where `global/pg_control` is missing."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not LABELLED.search(line)]
    return without_paths(" ".join(lines[-LAST_LINES:])).rstrip(".")


def without_paths(text: str) -> str:
    """Absolute paths shortened to their last part."""
    return BARE_PATH.sub(r"\1", QUOTED_PATH.sub(r"\1\2\1", text))
