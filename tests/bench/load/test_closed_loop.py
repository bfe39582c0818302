"""The closed loop over a service that is right or wrong: figures only for the one."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.load.answers import WrongAnswer
from bench.load.block import Block
from bench.load.closed_loop import Plan, measured
from bench.load.workload import Texts
from bench.services.running import Running
from tests.bench.load.service import service

PLAN = Plan(Texts.REPEATED, seconds=0.3, warm_up=0.1, connections=4)


def block(home: Path, fault: str, plan: Plan) -> Block:
    with service(fault) as url:
        process = cast("Any", SimpleNamespace(pid=os.getpid()))
        return measured(Running(fault or "right", url, home, process, 0.0), plan)


def test_a_right_service_has_figures(tmp_path: Path):
    figures = block(tmp_path, "", PLAN).figures
    assert figures["requests"] > 0
    assert figures["failures"] == 0
    assert 0 < figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]
    assert figures["cpu_ms_both"] == pytest.approx(figures["cpu_ms_service"] + figures["cpu_ms_postgres"], abs=0.002)
    assert figures["cache_hit_rate"] == 1.0
    assert figures["answers_checked"] > 240


def test_unique_writes_and_searches_are_told_apart(tmp_path: Path):
    plan = Plan(Texts.UNIQUE, seconds=0.5, warm_up=0.0, connections=4, write_share=0.5)
    figures = block(tmp_path, "", plan).figures
    assert {"search_p99_ms", "write_p99_ms"} <= set(figures)
    assert figures["repeated_share"] == 0.0


@pytest.mark.parametrize(("fault", "reason"), [("of others", "somebody else"), ("refuses", "were refused")])
def test_a_wrong_service_has_none(fault: str, reason: str, tmp_path: Path):
    with pytest.raises(WrongAnswer, match=reason):
        block(tmp_path, fault, PLAN)


def test_a_service_that_loses_acknowledged_writes_has_none(tmp_path: Path):
    plan = Plan(Texts.REPEATED, seconds=0.3, warm_up=0.0, connections=4, write_share=1.0)
    with pytest.raises(WrongAnswer, match="acknowledged"):
        block(tmp_path, "forgets", plan)
