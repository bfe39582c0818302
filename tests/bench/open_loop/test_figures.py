"""What is made of a block's answers."""

import math
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.answers import WrongAnswer
from bench.load.oha import SPREAD, Answer, Sent
from bench.load.open_loop import Bodies, Load, Measured, batches, figures, quantile, verify_counts
from bench.load.overload import recovered_after
from bench.load.probe import Seen
from bench.load.seeding import seed
from bench.load.tenants import Rows, tenants
from bench.load.workload import AGENTS, USERS, Texts
from bench.noise import Noise
from bench.services.running import Cpu
from tests.bench.load.service import service


def measured(reads: list[Answer], writes: list[Answer], **changed: Any) -> Measured:
    """A block of 10 s."""
    load = Load(rate=(len(reads) + len(writes)) / 10, seconds=10.0)
    searched, written = (Sent(len(one), one, [0.001] * len(one), {}, cpu=0.5) for one in (reads, writes))
    fields: dict[str, Any] = {"cpu": Cpu(2.0, 1.0), "cache": {}, "seen": Seen(checked=0), "noise": Noise()}
    return Measured(load, searched, written, **fields | changed)


def answers(latencies: list[float], status: int = 200) -> list[Answer]:
    """One after the other, 10 ms apart."""
    return [Answer(n / 100, n / 100 + latency, status) for n, latency in enumerate(latencies)]


def test_latencies_are_of_the_accepted_and_refusals_have_their_own():
    found = figures(measured(answers([0.010] * 90 + [0.500] * 10), answers([0.002] * 50, 503)))
    assert found["p50_ms"] == 10
    assert found["p99_ms"] == 500
    assert found["time_to_refuse"]["p99_ms"] == 2
    assert found["errors"] == {"503": 50}
    assert found["offered_per_second"] == 15
    assert found["achieved_per_second"] == 10
    assert found["goodput_per_second"] == 9


def test_what_comes_after_the_end_and_the_objective_is_not_achieved():
    on_time = [Answer(9.9, 10.05, 200), Answer(9.99, 10.2, 200)]
    assert figures(measured(on_time, []))["achieved_per_second"] == 0.1


def test_cpu_is_for_each_answered_request_so_that_refusing_does_not_make_it_look_cheap():
    found = figures(measured(answers([0.01] * 49), answers([0.01] * 50, 503), seen=Seen(checked=1, refused=3)))
    assert found["cpu_ms_service"] == 40
    assert found["cpu_ms_both"] == 60
    assert found["generator_cpu_ms"] == 20


def test_reads_and_writes_are_told_apart():
    found = figures(measured(answers([0.010] * 3), answers([0.020] * 3, 201)))
    assert found["reads"]["p50_ms"] == 10
    assert found["writes"]["p50_ms"] == 20


@given(st.lists(st.floats(0, 1e3), min_size=1), st.floats(0.001, 1))
def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed(values: list[float], share: float):
    ordered = sorted(values)
    found = quantile(ordered, share)
    assert sum(value <= found for value in ordered) >= share * len(ordered) - 1e-9
    assert sum(value < found for value in ordered) < math.ceil(share * len(ordered))


LOAD = Load(rate=4, seconds=3.0)


@pytest.mark.parametrize(
    ("late", "seconds"),
    [([], 0), ([(0.25, 0.2, 200)], 1), ([(0.25, 0.01, 503), (1.25, 0.2, 200)], 2), ([(2.9, 0.2, 200)], 0)],
)
def test_recovery_is_the_first_second_that_is_whole(late: list[tuple[float, float, int]], seconds: int):
    fine = [Answer(n / 4, n / 4 + 0.01, 200) for n in range(12)]
    bad = [Answer(begin, begin + latency, status) for begin, latency, status in late]
    assert recovered_after(fine + bad, LOAD) == seconds


def test_a_service_that_does_not_recover_has_no_second():
    assert recovered_after([Answer(n / 4, n / 4 + 0.2, 200) for n in range(12)], LOAD) is None


@pytest.mark.parametrize(("fault", "wrong"), [("", False), ("miscounts", True)])
async def test_as_many_memories_are_counted_as_were_acknowledged(fault: str, wrong: bool):
    bodies = Bodies(Texts.REPEATED, tenants(Rows.SHAPE))
    with service(fault) as url:
        await seed(url)
        with pytest.raises(WrongAnswer, match="are counted") if wrong else nullcontext():
            await verify_counts(url, bodies)


@pytest.mark.parametrize(("there", "right"), [(1_001, False), (1_002, True), (1_003, True), (1_004, False)])
async def test_a_write_without_an_answer_may_be_there_or_not(there: int, right: bool, monkeypatch: pytest.MonkeyPatch):
    async def counted(_: object, pair: tuple[str, str]) -> int:
        return there if pair == (AGENTS[0], USERS[0]) else 0

    monkeypatch.setattr("bench.load.open_loop.counted_of", counted)
    bodies = Bodies(Texts.REPEATED, tenants(Rows.SHAPE))
    bodies.wrote(Sent(4, [*answers([0.1] * 2, 201), *answers([0.1], 503)], [], {"timeout": 1}))
    with service() as url, nullcontext() if right else pytest.raises(WrongAnswer):
        await verify_counts(url, bodies)


@pytest.mark.parametrize("reads", [0, 75, 100])
def test_a_block_is_made_before_it_is_sent(reads: int):
    bodies = Bodies(Texts.UNIQUE, tenants(Rows.SHAPE))
    made = batches("http://127.0.0.1:1", Load(rate=40, seconds=0.5, reads=reads), bodies)
    assert [len(one.bodies) for one in made] == [20 * percent // 100 * SPREAD for percent in (reads, 100 - reads)]


@pytest.mark.parametrize("rows", [Rows.SHAPE, Rows.SKEWED])
def test_bodies_are_addressed_to_tenants_and_unique_ones_never_come_again(rows: Rows):
    chosen = tenants(rows)
    bodies, known = Bodies(Texts.UNIQUE, chosen), {(t.agent_id, t.user_id) for t in chosen}
    asked = [next(bodies.questions) for _ in range(500)]
    assert {(body["agent_id"], body["user_id"]) for body in asked} <= known
    sent = [next(bodies.reads) for _ in range(500)] + [next(bodies.writes) for _ in range(500)]
    assert len(set(sent)) == 1_000
