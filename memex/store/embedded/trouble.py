"""What the server's own log says of a failed start, as one of our errors."""

import re
from collections.abc import Iterable
from pathlib import Path

from memex.errors import DatabaseUnreachable, HomeUnusable, StartupError

REASON = re.compile(r"(?:FATAL|PANIC|ERROR|error|fatal):\s+(?P<reason>.*)")
QUOTED_PATH = re.compile(r'(["\'])/(?:[^"\']*/)?([^"\'/]*)\1')
BARE_PATH = re.compile(r"(?<![\w/])/(?:[^\s:\"']*/)([^\s/:\"']*)")
TAIL_BYTES = 16 * 1024
NO_REASON = "it gave no reason"


def explained(doing: str, logs: Iterable[Path]) -> StartupError:
    """The error for a start or an `initdb` that failed while `doing`; `logs` from the most telling on."""
    reason = next((found for log in logs if (found := last_reason(tail(log)))), NO_REASON)
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


def without_paths(text: str) -> str:
    """Absolute paths shortened to their last part."""
    return BARE_PATH.sub(r"\1", QUOTED_PATH.sub(r"\1\2\1", text))
