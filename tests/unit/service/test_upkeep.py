"""Upkeep goes on whatever happens, and ends with the worker."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memex.errors import StoreUnavailable
from memex.metrics import Metrics
from memex.service import Upkeep
from memex.settings import Upkeep as Settings
from memex.store import Keys, Tombstones


class Turns(Tombstones):
    """Answers what it is told to, and counts."""

    def __init__(self, outcomes: list[Any]) -> None:
        self.outcomes = outcomes
        self.ages: list[float] = []
        self.over = asyncio.Event()

    async def purge(self, seconds: float) -> int | None:
        self.ages.append(seconds)
        if not self.outcomes:
            self.over.set()
            await asyncio.Event().wait()
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is None or isinstance(outcome, int)
        return outcome


class Forgotten(Keys):
    """Of keys, so many each time."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def purge(self) -> int:
        return self.count


@pytest.fixture
def value() -> tuple[Metrics, Callable[..., float]]:
    metrics = Metrics()
    return metrics, lambda name, **labels: metrics.registry.get_sample_value(name, labels) or 0.0


async def test_trouble_is_counted_and_the_next_turn_comes(value):
    metrics, read = value
    turns = Turns([3, StoreUnavailable(), None, RuntimeError("a fault of ours"), 4])
    upkeep = Upkeep(turns, Forgotten(2), Settings(interval_seconds=0.001, tombstone_hours=2.0), metrics)
    upkeep.start()
    await turns.over.wait()
    await upkeep.close()
    assert set(turns.ages) == {7_200.0}
    outcomes = {name: read("memex_upkeep_runs_total", outcome=name) for name in ("done", "failed", "elsewhere")}
    assert outcomes == {"done": 2, "failed": 2, "elsewhere": 1}
    assert read("memex_upkeep_tombstones_total") == 7
    assert read("memex_upkeep_keys_total") == 12


async def test_it_may_end_before_it_began(value):
    await Upkeep(Turns([]), Forgotten(0), Settings(), value[0]).close()
