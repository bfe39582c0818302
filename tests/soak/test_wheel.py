"""The wheel with the dependencies that pip chooses today from the ranges that it gives."""

from pathlib import Path

import pytest

from tests.fixtures.wheels import Machine
from tests.system.test_wheel import remembers, says_what_it_stored


@pytest.mark.soak
@pytest.mark.timeout(1_800)
async def test_installed_from_an_index_it_works(wheel: Path, machine: Machine):
    machine.install(wheel)
    await says_what_it_stored(machine)
    remembers(machine)
