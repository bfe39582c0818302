"""Connection strings of our own kind: UTF-8 whatever surrounds us, and refused where a password could be in sight."""

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.errors import DatabaseUnreachable

ENCODING = {"client_encoding": "UTF8"}
"""Text goes out and comes back as UTF-8 bytes. The server lets the connection's own word win over that of roles,
databases and `PGCLIENTENCODING`."""
NO_STRING = (
    "DATABASE_URL is not a connection string: postgresql://user:password@host:5432/name. "
    "Escape special characters of the user and the password: @ is %40, / is %2F."
)


def ours(conninfo: str, **defaults: str | int) -> str:
    """`conninfo` with `defaults` for what it does not name itself, always in UTF-8. Raises DatabaseUnreachable."""
    return make_conninfo("", **{**defaults, **parts(conninfo), **ENCODING})


def parts(conninfo: str) -> dict[str, str]:
    """The parameters by name. Raises DatabaseUnreachable, without a word of the string, where it is none."""
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    except psycopg.Error as error:
        raise DatabaseUnreachable(NO_STRING) from error
    if torn(conninfo) or misplaced(found):
        raise DatabaseUnreachable(NO_STRING)
    return found


def torn(conninfo: str) -> bool:
    """Whether a URL has an @ that does not end its password: part of one is taken for a host or a database then."""
    scheme, mark, rest = conninfo.partition("://")
    if not mark or not scheme.isalpha():
        return False
    authority, _, path = rest.partition("?")[0].partition("/")
    return authority.count("@") > 1 or "@" in path


def misplaced(found: dict[str, str]) -> bool:
    """Whether a host or a port holds what can only be meant for something else."""
    hosts = found.get("host", "").split(",")
    ports = found.get("port", "").split(",")
    return any("@" in host and not host.startswith("/") for host in hosts) or any(
        port and not (port.isascii() and port.isdigit()) for port in ports
    )
