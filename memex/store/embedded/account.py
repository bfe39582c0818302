"""The operating-system account that PostgreSQL runs as: ours, or an unprivileged one when we are root."""

import logging
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from memex.errors import HomeUnusable

NAME = "memex"
NOBODY = 65534
"""Stands for any unprivileged account while ours does not exist."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
"""What child processes see: nothing of ours, so that no `PG…` or `LD_…` variable changes the server."""

logger = logging.getLogger(__name__)


class Account(msgspec.Struct, frozen=True):
    """Who PostgreSQL's processes are."""

    name: str
    uid: int
    gid: int
    switch: bool = False
    """Whether we are root and must become this account."""

    def as_process(self) -> dict[str, Any]:
        """Arguments of `subprocess` that make the child this account, in a folder it can enter."""
        common: dict[str, Any] = {"env": ENVIRONMENT, "cwd": "/"}
        return common | {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else common

    def may(self, access: str, *paths: Path) -> bool:
        """Whether the account may read ("r"), write ("w") or enter ("x") all of `paths`, as the kernel sees it."""
        script = f'for path; do test -{access} "$path" || exit 1; done'
        try:
            command = ["/bin/sh", "-c", script, "sh", *map(str, paths)]
            done = subprocess.run(command, **self.as_process(), check=False)  # noqa: S603  paths are arguments, not script
        except PermissionError as error:
            raise HomeUnusable(
                f"memex runs as root without the right to become the account {self.name}: run it as an ordinary user, "
                "or set DATABASE_URL to a PostgreSQL of your own."
            ) from error
        return done.returncode == 0


def current() -> Account:
    """The account for the server; as root the system account `memex`, made when it is missing.

    Raises HomeUnusable where there is no usable account.
    """
    if os.geteuid() != 0:
        return own()
    if (found := lookup()) is None:
        create()
        found = lookup()
    if found is None or found.uid == 0:
        raise HomeUnusable(missing())
    return found


def own() -> Account:
    """The user that we are. PostgreSQL needs a name for it."""
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise HomeUnusable(
            f"User id {os.geteuid()} has no name on this system, which PostgreSQL needs: "
            "add it to the system's users, or set DATABASE_URL to a PostgreSQL of your own."
        ) from error
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def lookup() -> Account | None:
    """The system account, if it exists."""
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=True)


def create() -> None:
    """Make the system account: no password, no shell, no home of its own."""
    command = shutil.which("useradd", path=SYSTEM_PATH)
    if command is None:
        raise HomeUnusable(missing())
    logger.info("memex runs as root: making the system account %s, which PostgreSQL will run as", NAME)
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    shell = shutil.which("nologin", path=SYSTEM_PATH) or "/bin/false"
    done = subprocess.run(  # noqa: S603  a fixed command line
        [command, *options, "--shell", shell, NAME], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    # Another process may have been quicker: then the command fails and the account is there.
    if done.returncode and lookup() is None:
        raise HomeUnusable(f"{missing()} ({done.stderr.strip().splitlines()[-1:] or ['useradd failed']})")


def missing() -> str:
    """What to do without an account."""
    return (
        f"memex runs as root, and PostgreSQL refuses to: make an unprivileged account named {NAME} "
        f"(useradd --system {NAME}), run memex as an ordinary user, or set DATABASE_URL."
    )


def users(account: Account) -> list[str]:
    """The system users that may connect as memex: the server's account, and root when we are root."""
    return [account.name, pwd.getpwuid(0).pw_name] if account.switch else [account.name]


def reachable(home: Path) -> bool:
    """Whether the server's account could enter `home`, which need not exist. Makes nothing, no account either.

    False tells a caller that runs as root to choose another default: /var/lib/memex.
    """
    if os.geteuid() != 0:
        return True
    account = lookup() or Account("an unprivileged account", NOBODY, NOBODY, switch=True)
    existing = next(folder for folder in home.absolute().parents if folder.exists())
    return account.may("x", existing)
