"""Log lines as text or JSON, each with the request's id. They never hold content."""

import json
import logging
import sys
import time
from contextvars import ContextVar
from datetime import UTC, datetime

request_id: ContextVar[str] = ContextVar("request_id", default="-")

QUIET_SECONDS = 1.0
QUIET = ("psycopg", "psycopg.pool", "alembic", "granian.access", "sqlalchemy")


class Line(logging.Formatter):
    """`2026-01-31T12:00:00.000Z INFO memex.store 4f2a… text`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the trace below it where there is one."""
        text = f"{moment(record)} {record.levelname} {record.name} {request_id.get()} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonLine(logging.Formatter):
    """The same as one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """One object; a trace is a string in it."""
        line = {
            "time": moment(record),
            "level": record.levelname,
            "logger": record.name,
            "request_id": request_id.get(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)  # in ASCII: valid whatever the encoding of stderr is


class Flood:
    """Lines of one kind that may come in floods: one a second is told, which says how many were left out before it."""

    def __init__(self) -> None:
        """Of which none was told yet."""
        self._untold = 0
        self._told = -QUIET_SECONDS

    def next(self) -> str | None:
        """What to add to the line that is due now; None if it is to be left out."""
        now = time.monotonic()
        if now - self._told < QUIET_SECONDS:
            self._untold += 1
            return None
        untold, self._untold, self._told = self._untold, 0, now
        return f", {untold} more since the last such line" if untold else ""


def moment(record: logging.LogRecord) -> str:
    """The record's time in UTC with milliseconds."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure(level: str, form: str) -> None:
    """Log to stderr at `level` ("debug" … "critical"); `form` is "text" or "json"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLine() if form == "json" else Line())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
