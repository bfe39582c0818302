"""What `memex check` and `memex version` print."""

import asyncio
import os
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path

import click
import msgspec

from memex import __version__
from memex.api.surface import address as url
from memex.app.databases import database as database_of
from memex.app.databases import server_of
from memex.app.listening import check_address, reserved
from memex.app.models import located
from memex.app.preparation import instructions
from memex.embedder import open_embedder
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model
from memex.embedder.scripts import TOO_MANY, WINDOW, known_scripts, script_of, unread
from memex.errors import HomeUnusable, MemexError, PortTaken
from memex.index import build_info
from memex.metrics import Metrics
from memex.settings import INACTIVE, LEGACY, SECTIONS, Settings, redacted
from memex.store import Pool, Reads, schema

GOOD, BAD = "ok", "FAULT"
ANSWER_SECONDS = 2.0
# The next piece of PostgreSQL's write-ahead log: without room for it the database stops.
LEAST_FREE = 16 * 2**20


def build() -> str:
    """How the native module was built and what it runs on here; its version only if that is not ours."""
    return ", ".join(f"{name} {value}" for name, value in build_info().items() if value != __version__)


def report(settings: Settings) -> int:
    """Prints the parts and the settings, a line each; the exit code is 0 where memex could start, or runs."""
    rows: list[tuple[str, str, str]] = []
    for name, look in PARTS.items():
        state, text = outcome(look, settings)
        before = next((earlier for earlier, _, said in rows if state == BAD and said == text), None)
        rows.append((name, state, f"the same as of {before}" if before else text))
    for name, state, text in rows:
        click.echo(f"{click.style(f'{state:<5}', fg='red' if state == BAD else 'green')}  {name:<14}  {text}")
    click.echo()
    lines = [("MEMEX_HOME", str(settings.home), ""), *listed(settings)]
    width = max(len(f"{name}={value}") for name, value, _ in lines)
    for name, value, remark in lines:
        click.echo(f"{f'{name}={value}':<{width}}  {remark}".rstrip())
    return int(any(state == BAD for _, state, _ in rows))


def outcome(look: Callable[[Settings], str], settings: Settings) -> tuple[str, str]:
    """What one part says, or what is wrong with it and what to do."""
    try:
        return GOOD, look(settings)
    except MemexError as error:
        return BAD, error.message


def address(settings: Settings) -> str:
    """Where memex would listen, or listens already."""
    check_address(settings)
    server = settings.server
    try:
        with reserved(server.host, server.port):
            return f"{server.host}:{server.port} is free, {server.workers} worker(s)"
    except PortTaken:
        if (found := running(url(server))) is None:
            raise
        return f"{server.host}:{server.port}, where {found} runs"


def running(where: str) -> str | None:
    """The name and version of the memex that answers at the address `where`; no proxy is asked."""
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    try:
        with ask(where, timeout=ANSWER_SECONDS) as response:
            about = msgspec.json.decode(response.read(), type=dict[str, str])
    except (OSError, HTTPException, msgspec.MsgspecError):
        return None
    return f"{about['service']} {about['version']}" if about.keys() >= {"service", "version", "docs"} else None


def home(settings: Settings) -> str:
    """The data directory, there or not yet, and the room on its disk."""
    folder = settings.home.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK) or not owned(folder):
        raise HomeUnusable(f"{folder} is not a directory that this user can use: choose another with --data-dir.")
    if (free := shutil.disk_usage(existing).free) < LEAST_FREE:
        raise HomeUnusable(f"The disk of {folder} is full, {free / 2**20:.0f} MiB are left: free some space.")
    return f"{folder}{'' if existing == folder else ', not there yet'}, {free / 2**30:.1f} GiB free"


def owned(folder: Path) -> bool:
    """Whether what is there of the data is this user's."""
    data = folder / "data"
    return not data.exists() or data.stat().st_uid == os.geteuid()


def model(settings: Settings) -> str:
    """The model, every file checked, and what it runs on."""
    found = msgspec.structs.replace(settings.embedding, model=located(settings))
    embedder = open_embedder(found, settings.server.workers, Metrics())
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


def texts(settings: Settings) -> str:
    """Whether the model can read what is stored; a database that does not run is left alone."""
    if not settings.database.url and not server_of(settings).describe().pid:
        return "not looked at: the embedded PostgreSQL is not running"
    known = known_scripts(open_tokenizer(open_model(located(settings)).tokenizer))
    with database_of(settings) as conninfo:
        stored = asyncio.run(newest(conninfo, settings))
    found = unread(map(script_of, stored), known)
    if found.share > TOO_MANY:
        return f"of the {len(stored)} newest memories {found}"
    return f"{found.share:.0%} of the {len(stored)} newest memories are in scripts that the model cannot read"


async def newest(conninfo: str, settings: Settings) -> list[str]:
    """A sample of what is stored."""
    pool = Pool(conninfo, settings.database, Metrics())
    try:
        return await Reads(pool).newest(WINDOW)
    finally:
        await pool.close()


def native(settings: Settings) -> str:
    """The native module, and what it would rank with."""
    return f"{build()}; ranks with {instructions(settings.ranking.isa)}"


PARTS: dict[str, Callable[[Settings], str]] = {
    "address": address,
    "data directory": home,
    "database": database,
    "model": model,
    "texts": texts,
    "native module": native,
}


def listed(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of each setting."""
    legacy = {place: name for name, place in LEGACY.items()}
    for section, kind in SECTIONS.items():
        for field in msgspec.structs.fields(kind):
            value = getattr(getattr(settings, section), field.name)
            value = redacted(value) if (section, field.name) == ("database", "url") else value
            yield f"MEMEX_{section}_{field.name}".upper(), shown(value), remark(legacy.get((section, field.name), ""))


def shown(value: object) -> str:
    """A value as it is written in the environment; nothing where there is none."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def remark(also: str) -> str:
    """What there is to say of a setting that the reference knows as `also`."""
    if also in INACTIVE:
        return f"{also} is inactive: not in this version"
    return f"also {also}" if also else ""
