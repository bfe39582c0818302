"""What `memex check` and `memex version` print."""

import asyncio
from collections.abc import Callable, Iterator

import msgspec
from rich.console import Console
from rich.table import Table

from memex.app.preparation import instructions, server_of
from memex.app.server import check_address, check_port
from memex.embedder import open_embedder
from memex.errors import MemexError
from memex.index import build_info
from memex.metrics import Metrics
from memex.settings import INACTIVE, LEGACY, SECTIONS, Settings, redacted
from memex.store import schema

GOOD, BAD = "ok", "FAULT"


def build() -> str:
    """How the native module was built and what it runs on here."""
    return ", ".join(f"{name} {value}" for name, value in build_info().items())


def report(settings: Settings) -> int:
    """Prints the parts and the settings; the exit code is 0 where memex could start."""
    console = Console()
    rows = [(name, *outcome(look, settings)) for name, look in PARTS.items()]
    console.print(parts(rows))
    console.print(values(settings))
    return int(any(state == BAD for _, state, _ in rows))


def outcome(look: Callable[[Settings], str], settings: Settings) -> tuple[str, str]:
    """What one part says, or what is wrong with it and what to do."""
    try:
        return GOOD, look(settings)
    except MemexError as error:
        return BAD, error.message


def address(settings: Settings) -> str:
    """Where memex would listen."""
    check_address(settings)
    check_port(settings.server.host, settings.server.port)
    return f"{settings.server.host}:{settings.server.port} is free, {settings.server.workers} worker(s)"


def model(settings: Settings) -> str:
    """The model, every file checked."""
    embedder = open_embedder(settings.embedding, settings.server.workers, Metrics())
    asyncio.run(embedder.close())
    card = embedder.card
    run = f"runs on {embedder.engine} in {embedder.streams} stream(s) per worker"
    return f"{card.id}, {card.dimensions} dimensions, every file checked; {run}"


def database(settings: Settings) -> str:
    """The external database, or the embedded one as it is now."""
    if settings.database.url:
        schema.verify(settings.database.url)
        return f"{redacted(settings.database.url)}, schema current"
    found = server_of(settings).describe()
    running = f"running as process {found.pid}" if found.pid else "not running"
    return f"embedded PostgreSQL {found.version}, {running}, {found.data_bytes / 2**20:.0f} MiB, user {found.account}"


def native(settings: Settings) -> str:
    """The native module, and what it would rank with."""
    return f"{build()}; ranks with {instructions(settings.ranking.isa)}"


PARTS: dict[str, Callable[[Settings], str]] = {
    "address": address,
    "database": database,
    "model": model,
    "native module": native,
}


def parts(rows: list[tuple[str, str, str]]) -> Table:
    """One row a part."""
    table = Table("part", "state", "what", title="memex")
    for row in rows:
        table.add_row(*row, style="bold red" if row[1] == BAD else "")
    return table


def values(settings: Settings) -> Table:
    """Every setting with its value, and those that have no effect yet."""
    table = Table("setting", "value", "", title="Settings in force")
    table.add_row("MEMEX_HOME", str(settings.home), "")
    for name, also, value in listed(settings):
        table.add_row(name, value, remark(also))
    return table


def remark(also: str) -> str:
    """What there is to say of a setting that the reference knows as `also`."""
    if also in INACTIVE:
        return f"{also} is inactive: not in this version"
    return f"also {also}" if also else ""


def listed(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Name, the reference's name, and value of each setting."""
    legacy = {place: name for name, place in LEGACY.items()}
    for section, kind in SECTIONS.items():
        for field in msgspec.structs.fields(kind):
            value = getattr(getattr(settings, section), field.name)
            shown = redacted(value) if field.name == "url" else str(value)
            yield f"MEMEX_{section}_{field.name}".upper(), legacy.get((section, field.name), ""), shown
