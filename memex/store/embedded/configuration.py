"""The server's configuration: written at each start, so that it always is this version's."""

import os
import sys
from pathlib import Path

from memex.store.embedded.account import Account, users
from memex.store.embedded.layout import Layout, rewrite

ROLE = "memex"
SUPERUSER = "postgres"
DATABASE = "memex"
MAP = "memex"

POSTGRESQL_CONF = """\
# memex.conf is written by memex at each start. Settings of your own go below the next line and win over it.
include 'memex.conf'
"""

MEMEX_CONF = """\
# Written by memex at each start. Settings of your own go into postgresql.conf.
cluster_name = 'memex'
listen_addresses = ''
port = 5432
unix_socket_directories = {sockets}
unix_socket_permissions = 0700
max_connections = {connections}
shared_buffers = '{shared_megabytes}MB'
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
logging_collector = on
log_directory = {logs}
log_filename = 'postgresql-%Y%m%d-%H%M%S.log'
log_rotation_age = 0
log_rotation_size = '8MB'
log_checkpoints = off
# A plan made for a table that was small lives until statistics say otherwise: they are looked after this often.
autovacuum_naptime = '10s'
# How a recovery writes the data through to the disk: see sync_method.
recovery_init_sync_method = {sync_method}
# The log never holds content: no statements, and no DETAIL, which would quote whole rows.
log_error_verbosity = terse
log_min_error_statement = panic
"""

HBA_CONF = """\
# Written by memex at each start: whom the system knows as one of pg_ident.conf, over the socket, and nobody else.
local all         {role}      peer map={map}
local all         {superuser} peer map={map}
local replication {superuser} peer map={map}
"""


def write(layout: Layout, account: Account, sockets: Path, connections: int, shared_megabytes: int) -> None:
    """Everything that the server reads. Durability settings of running are PostgreSQL's own defaults."""
    main = MEMEX_CONF.format(
        sockets=quoted(f'"{sockets}"'),
        logs=quoted(str(layout.logs)),
        connections=connections,
        shared_megabytes=shared_megabytes,
        sync_method=sync_method(),
    )
    rewrite(layout.data / "memex.conf", main, account)
    rewrite(layout.data / "pg_hba.conf", HBA_CONF.format(role=ROLE, superuser=SUPERUSER, map=MAP), account)
    rewrite(layout.data / "pg_ident.conf", ident(account), account)


def sync_method() -> str:
    """How `initdb` and the recovery after a crash write a whole data directory through to the disk.

    One call for the file system is as durable as one for each of a thousand files and takes 0.01 s for 3 s. Linux
    reports its errors since 5.8; anywhere else it is PostgreSQL's default.
    """
    if sys.platform != "linux":
        return "fsync"
    major, minor = (int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    return "syncfs" if (major, minor) >= (5, 8) else "fsync"


def ident(account: Account) -> str:
    """System users → database roles."""
    lines = [f'{MAP} "{user}" {role}' for user in users(account) for role in (ROLE, SUPERUSER)]
    return "\n".join(["# Written by memex at each start.", *lines, ""])


def quoted(text: str) -> str:
    """One string of a configuration file."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
