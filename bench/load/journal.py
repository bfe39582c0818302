"""What a Locust process leaves for the command that started it: its own statistics are rounded to milliseconds."""

from typing import Any

import msgspec

from bench.load.block import Done


class Journal(msgspec.Struct):
    """Everything that one run did."""

    done: list[Done] = []
    writes: list[tuple[dict[str, Any], bool]] = []
    """Each write, and whether it was acknowledged."""
    searches: list[tuple[dict[str, Any], str]] = []
    """A sample of the searches with their answers."""
    wrong: list[str] = []
    """What was wrong with answers of status 200."""
    repeated_share: float = 0.0
    cpu_seconds: float = 0.0
    """What Locust itself used, from the start of the test."""
