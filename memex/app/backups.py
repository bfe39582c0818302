"""What `memex backup` and `memex restore` do."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memex.app.databases import server_of
from memex.app.signals import stop_cleanly
from memex.app.tenths import MEGABYTE, tenths
from memex.errors import SettingsInvalid
from memex.settings import Settings
from memex.store.embedded import Backup, restore

ELSEWHERE = "DATABASE_URL names a PostgreSQL of your own: use its own tools, such as pg_dump and pg_restore."


def back_up(settings: Settings, target: Path) -> str:
    """Backs the embedded database up into a folder, also while a service runs; what it is, to print."""
    begin(settings)
    server = server_of(settings)
    server.check_backup(target)
    try:
        server.start()
        with progress() as tell:
            made = server.back_up(target, tell)
    finally:
        server.stop()
    return f"{target} is a backup of {told(made)}."


def put_back(settings: Settings, source: Path) -> str:
    """Puts a backup into the data directory, which has no database yet; what it is, to print."""
    begin(settings)
    with progress() as tell:
        backup = restore(source, settings.home, tell)
    return f"{settings.home} has the database of {backup.made_at}: {told(backup)}."


def begin(settings: Settings) -> None:
    """Raises SettingsInvalid where the database is not the embedded one."""
    if settings.database.url:
        raise SettingsInvalid(ELSEWHERE)
    stop_cleanly(1)


def told(backup: Backup) -> str:
    """One backup for people."""
    return f"{backup.bytes / MEGABYTE:,.0f} MB, made by memex {backup.memex} with PostgreSQL {backup.postgresql}"


@contextmanager
def progress() -> Iterator[Any]:
    """A bar for whoever watches a terminal, otherwise lines in the log."""
    if not sys.stdout.isatty():
        yield tenths()
        return
    from memex.app.bars import downloads  # noqa: PLC0415 (rich, which nobody sees without a terminal)

    with downloads() as tell:
        yield tell
