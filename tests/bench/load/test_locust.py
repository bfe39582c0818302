"""Locust in a process of its own, over a service that is right, wrong or refuses."""

import asyncio
import subprocess
import sys

import pytest

from bench.load.answers import Truth, WrongAnswer
from bench.load.journal import Journal
from bench.load.locust import Plan, by_class, checked, run
from bench.load.seeding import seed
from bench.load.workload import Texts
from tests.bench.load.service import service


def ran(fault: str, plan: Plan) -> tuple[Journal, int]:
    """The journal of one run, and how many of its answers were checked."""
    with service(fault) as url:
        truth: Truth = asyncio.run(seed(url))
        journal = run(url, plan)
        return journal, asyncio.run(checked(url, truth, journal))


def test_both_classes_search_and_write_and_the_answers_are_checked():
    journal, answers = ran("", Plan(Texts.UNIQUE, users=4, spawn_rate=4, seconds=2))
    assert {done.kind for done in journal.done} == {"search", "write"}
    assert set(by_class(journal.done, 0.0)) == {"realistic_requests_per_second", "saturation_requests_per_second"}
    assert not any(done.failed for done in journal.done)
    assert journal.repeated_share == 0.0
    assert journal.cpu_seconds > 0
    assert answers > len(journal.searches) > 0


def test_a_wrong_answer_ends_the_run():
    with pytest.raises(WrongAnswer, match="order of their scores"):
        ran("upside down", Plan(Texts.REPEATED, "saturation", users=2, spawn_rate=2, seconds=1))


def test_a_refusal_is_a_failure():
    with service("refuses") as url:
        journal = run(url, Plan(Texts.REPEATED, "saturation", users=2, spawn_rate=2, seconds=1))
    assert {done.failed for done in journal.done if done.kind == "search"} == {True}
    assert not journal.wrong


@pytest.mark.parametrize(
    ("plan", "asked"),
    [
        (Plan(Texts.REPEATED, "realistic"), {}),
        (Plan(Texts.REPEATED, "saturation", users=500, spawn_rate=500.0), {"saturation_asked_per_second": 10_000.0}),
        (Plan(Texts.REPEATED, users=50, spawn_rate=10.0, seconds=20), {"saturation_asked_per_second": 450.0}),
    ],
)
def test_what_saturating_users_would_ask(plan: Plan, asked: dict[str, float]):
    assert plan.asked == asked


def test_gevent_stays_in_locusts_own_process():
    program = "import sys, bench.load.versus; sys.exit('gevent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
