"""A process that uses the embedded server of a data directory until its input ends.

`python -m tests.store.embedded_process HOME [UID]` prints the connection string when the server has answered, or the
code and the message of the error; it stops the server when its standard input is closed. Root may give a user id, which
is taken only here, because that user need not reach our Python.
"""

import os
import sys
from pathlib import Path

from memex.errors import MemexError
from memex.store.embedded import EmbeddedServer


def become(uid: int) -> None:
    """From now on be that user, for good."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def main() -> None:
    for uid in sys.argv[2:]:
        become(int(uid))
    server = EmbeddedServer(Path(sys.argv[1]))
    try:
        print(server.start(), flush=True)  # noqa: T201
    except MemexError as error:
        sys.exit(f"{error.code}: {error.message}")
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
