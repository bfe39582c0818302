"""From the process environment to settings. The parent hands its choices to the workers the same way."""

import os
from pathlib import Path

from dotenv import dotenv_values

from memex.app import SHARED_DIRECTORY
from memex.errors import SettingsInvalid
from memex.settings import HOME, Settings, Values, home_of, load

# For root, whose own folder is closed to the account that PostgreSQL runs as.
SYSTEM_HOME = Path("/var/lib/memex")


def read(options: Values | None = None, home: Path | None = None) -> Settings:
    """The settings of this process: `options`, then the environment, then `.env`, then the file."""
    environment = surroundings()
    return load(environment, options or {}, home or default_home(environment))


def default_home(environment: dict[str, str]) -> Path:
    """`MEMEX_HOME` if it is set, else the user's data folder, else a system folder where that one is closed."""
    home = home_of(environment)
    if HOME in {name.upper() for name in environment} or os.geteuid() != 0:
        return home
    from memex.store.embedded import reachable  # noqa: PLC0415 (with it comes psycopg, which is not for every command)

    return home if reachable(home) else SYSTEM_HOME


def surroundings() -> dict[str, str]:
    """The environment over what `.env` in the working directory says. Raises SettingsInvalid."""
    try:
        file = {name: value for name, value in dotenv_values(".env").items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f".env cannot be read: {error}") from error
    taken = {name.upper() for name in os.environ}
    return {name: value for name, value in file.items() if name.upper() not in taken} | dict(os.environ)


def hand_down(options: Values, home: Path, database_url: str) -> None:
    """Puts what only this process knows into the environment, where its workers read it."""
    known = {HOME: str(home)}
    for section, fields in options.items():
        known |= {f"MEMEX_{section}_{field}".upper(): str(value) for field, value in fields.items()}
    known["MEMEX_DATABASE_URL"] = database_url
    for other in [name for name in os.environ if name.upper() in known]:
        del os.environ[other]  # a spelling in other letters would be a second opinion
    os.environ.update(known)


def share_directory(directory: str) -> None:
    """Tells the workers to keep their metrics in `directory`."""
    os.environ[SHARED_DIRECTORY] = directory


def shared_directory() -> str | None:
    """The directory that this process shares with the other workers, None with one worker."""
    return os.environ.get(SHARED_DIRECTORY)


def single_threaded() -> None:
    """Linear algebra on one thread, so that equal input gives equal bytes; only before NumPy is loaded."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
