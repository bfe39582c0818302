"""Several processes over one database, for long."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.process import Process
from tests.system.test_processes import mirrored

STEPS = 100_000


@pytest.mark.soak
@pytest.mark.timeout(7_200)
async def test_a_hundred_thousand_answers_are_what_was_acknowledged(
    serve: Callable[..., Process], home: Path, database: str
):
    mirror = await mirrored(serve, home, database, STEPS)
    assert min(mirror.done.values()) > STEPS / 100
