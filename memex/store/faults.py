"""Where psycopg's errors become memex's. SQL, parameters and row values stay out of message and log."""

import logging

import psycopg
from psycopg.conninfo import make_conninfo

from memex.errors import DatabaseUnreachable, MemexError, StoreFault, StoreUnavailable
from memex.logs import Flood
from memex.store.conninfo import NO_STRING, parts

log = logging.getLogger(__name__)

passing = Flood()
"""Of trouble that passes: while the database is down every request meets it."""

# Classes and codes of trouble that passes: connections, resources, shutdown, time-outs, lost races.
PASSING_CLASSES = frozenset({"08", "53", "57", "58", "40"})
PASSING_CODES = frozenset({"55P03", "25006", "25P03", "28000", "28P01", "3D000"})
# MX is our own: MX001 a space key that another tenant or user holds, MX002 vectors that are not of the current model.
# A member of a group at fault for its own data: the others are tried without it.
DATA_CLASSES = frozenset({"22", "23", "MX"})


class DataRefused(StoreFault):
    """The service failed. The log has the details under this request id."""

    # Data that PostgreSQL refuses is a fault of ours all the same: the door should have refused it.


def translate(error: psycopg.Error) -> MemexError:
    """The memex error for `error`, which is logged."""
    code = error.sqlstate or ""
    kind = kind_of(error, code)
    level = level_of(kind)
    others = passing.next() if level == logging.WARNING else ""
    if others is not None:
        log.log(level, "%s%s", told(error, code), others)
    return kind()


def told(error: psycopg.Error, code: str) -> str:
    """What the log says of `error`: its SQLSTATE and the names of what it is about."""
    # The primary message of classes 22 and 23 may quote values; constraint and table names never do.
    text = "" if code[:2] in DATA_CLASSES - {"MX"} else first_line(error)
    place = ".".join(filter(None, (error.diag.table_name, error.diag.constraint_name or error.diag.column_name)))
    return " ".join(filter(None, ("postgresql", type(error).__name__, code, place, text)))


def kind_of(error: psycopg.Error, code: str) -> type[StoreFault | StoreUnavailable]:
    """Which class of ours an error of PostgreSQL or of the driver is."""
    if code[:2] in DATA_CLASSES or isinstance(error, psycopg.DataError):
        return DataRefused
    if code[:2] in PASSING_CLASSES or code in PASSING_CODES:
        return StoreUnavailable
    # Without a code it is the driver that speaks: of a connection that broke, or of our misuse.
    if not code and isinstance(error, psycopg.OperationalError):
        return StoreUnavailable
    return StoreFault


def level_of(kind: type[MemexError]) -> int:
    """Trouble that passes is a warning; a fault of ours an error."""
    return logging.WARNING if issubclass(kind, StoreUnavailable) else logging.ERROR


def first_line(error: BaseException) -> str:
    """What happened, without the driver's details below it."""
    return str(error).strip().split("\n", 1)[0]


def unreachable(error: psycopg.Error, conninfo: str) -> DatabaseUnreachable:
    """One line for people who start memex: why `conninfo` leads nowhere."""
    if isinstance(error, psycopg.ProgrammingError):
        return DatabaseUnreachable(NO_STRING)
    return DatabaseUnreachable(f"The database at {public(conninfo)} cannot be used: {reason(error)}.")


def reason(error: psycopg.Error) -> str:
    """The server's or the network's own words, shortened: "password authentication failed for user …"."""
    line = first_line(error)
    for mark in ("FATAL:", "failed:"):
        if mark in line:
            line = line.rsplit(mark, 1)[1]
    return line.strip().rstrip(".")


def public(conninfo: str) -> str:
    """Host, port, name and user of a connection string, and never a password."""
    found = parts(conninfo)
    shown = {key: found[key] for key in ("host", "port", "dbname", "user") if found.get(key)}
    return make_conninfo("", **shown) or "the default address"
