"""Scripts that were written for the routes under /api run as they are, with the packaged model."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.asking import ANA
from tests.fixtures.process import Process
from tests.fixtures.waiting import PATIENCE
from tests.system.test_long_content import rss

SCRIPT, CHECKS = (Path(__file__).with_name(name) for name in ("article.py", "article_checks.py"))
GROWTH = 20 * 2**20
MEMORY = "用户小明喜欢用 Java"
YEAR_2024, YEAR_2020 = 1_714_557_600, 1_588_327_200


@pytest.fixture
def service(serve: Callable[..., Process], database: str) -> Process:
    return serve(MEMEX_DATABASE_URL=database).ready()


def says(script: Path, service: Process, *arguments: str) -> Any:
    """What a script prints, which ends well."""
    command = [sys.executable, str(script), service.url, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout or "null")


def test_the_script_runs_unmodified_and_again_after_a_restart(serve: Callable[..., Process]):
    for _ in range(2):
        service = serve().ready()
        says(SCRIPT, service)
        assert service.stop() == 0


def test_a_hundred_writes_and_queries_cost_no_more_later_and_ten_at_a_time_are_no_error(
    service: Process, record_property: Callable[[str, Any], None]
):
    """Times are told, not judged; the work behind them is: no query loads anything anew, and none leaves memory."""
    sizes = []
    for _ in range(3):
        told = says(CHECKS, service, "load")
        record_property("load", told)
        assert [told[part]["error_rate"] for part in ("writes", "queries", "parallel")] == [0.0] * 3
        assert told["parallel"]["requests"] == 200
        sizes.append(rss(service.workers()))
    assert sizes[-1] - sizes[0] < GROWTH
    with service.client() as client:
        figures = client.get("/metrics").text
    for line in (
        f'memex_search_engine_total{{engine="memory"}} {3 * (100 + 150)}.0',
        'memex_search_engine_total{engine="database"} 0.0',
        'memex_index_events_total{event="load"} 1.0',
    ):
        assert line in figures.splitlines()


def contents(service: Process, **who: str) -> set[str]:
    with service.client() as client:
        return {memory["content"] for memory in client.get("/v1/memories", params=ANA | who).json()["memories"]}


def test_a_file_is_stored_and_its_failures_can_be_corrected_and_stored(service: Process, tmp_path: Path):
    source, failures, rest = (tmp_path / name for name in ("notes.jsonl", "failures.jsonl", "rest.jsonl"))
    good = [ANA | {"content": "tea", "external_id": "1"}, ANA | {"content": MEMORY, "on_duplicate": "return"}]
    lines = [json.dumps(good[0]), "", "not json", json.dumps(ANA | {"content": " "}), "  ", json.dumps(good[1]), ""]
    source.write_text("\n".join(lines), encoding="utf-8")
    assert says(CHECKS, service, "batch", str(source), str(failures)) == {"stored": 2, "duplicate": 0, "failed": 2}
    written = [json.loads(line) for line in failures.read_text().splitlines()]
    assert [one["item"] for one in written] == [lines[2], lines[3]]
    assert ["JSON decode error" in written[0]["reason"], written[1]["reason"]] == [
        True, "content: Value error, text must not be blank",
    ]  # fmt: skip
    # Sent again the file adds nothing; corrected, its failures are stored.
    assert says(CHECKS, service, "batch", str(source), str(failures)) == {"stored": 0, "duplicate": 2, "failed": 2}
    failures.write_text(failures.read_text().replace('\\" \\"', '\\"coffee\\"'))
    assert says(CHECKS, service, "batch", str(failures), str(rest)) == {"stored": 1, "duplicate": 0, "failed": 1}
    assert contents(service) == {"tea", MEMORY, "coffee"}


def test_each_way_to_delete_is_exact_and_logged(service: Process, tmp_path: Path):
    """One memory, by age, by content, by user, by agent."""
    notes = [
        (ANA, "one", YEAR_2024), (ANA, "old", YEAR_2020), (ANA, "twice", YEAR_2024), (ANA, "twice", YEAR_2024),
        (ANA | {"user_id": "ben"}, "of ben", YEAR_2024), (ANA, "kept", YEAR_2024),
        (ANA | {"agent_id": "other"}, "old", YEAR_2020), (ANA | {"agent_id": "other"}, "late", 32_503_680_000),
    ]  # fmt: skip
    with service.client() as client:
        sent = [who | {"content": content, "timestamp": at} for who, content, at in notes]
        ids = [client.post("/api/memories", json=note).json()["id"] for note in sent]
    own = {"agent_id": ANA["agent_id"]}
    steps: list[tuple[dict[str, Any], int]] = [
        ({"id": ids[0]}, 1), ({"id": ids[0]}, 0), (own | {"older_than_days": 1_500}, 1),
        (own | {"content": "twice"}, 2), (own | {"user_id": "ben"}, 1),
        ({"agent_id": "other", "created_after": "0001-01-01"}, 2),
    ]  # fmt: skip
    log = tmp_path / "deleted.jsonl"
    for conditions, deleted in steps:
        assert says(CHECKS, service, "delete", str(log), json.dumps(conditions)) == {"deleted": deleted}
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["conditions"], one["deleted"]) for one in logged] == steps
    found = [contents(service, **who) for who in ({}, {"user_id": "ben"}, {"agent_id": "other"})]
    assert found == [{"kept"}, set(), set()]
