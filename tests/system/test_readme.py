"""Every command of the README runs, and answers what the README shows."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.process import OWN, free_port, is_up
from tests.fixtures.waiting import PATIENCE, until

pytestmark = pytest.mark.xdist_group("system")
ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d(?=, )|\d{4}-\d\d-\d\dT[\d:.]+Z|\bAQ[\w-]{48}\b")
ADDRESS = "127.0.0.1:8000"


def blocks() -> list[tuple[str, str]]:
    """Language and text of every block, in the order of the page."""
    return [(m[1], m[2]) for m in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))]


COMMANDS = [text.strip() for language, text in blocks() if language == "sh"]
SHOWN = {
    command.strip(): json.loads(answer)
    for (kind, command), (next_kind, answer) in zip(blocks(), blocks()[1:], strict=False)
    if (kind, next_kind) == ("sh", "json")
}


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(OWN)}


@pytest.fixture
def served(home: Path, environment: dict[str, str]) -> Iterator[str]:
    """`make serve` as the README says, but for the data directory and the port."""
    assert "make serve" in COMMANDS
    port = free_port()
    process = subprocess.Popen(
        ["make", "serve"],
        cwd=ROOT,
        env=environment | {"MEMEX_HOME": str(home), "MEMEX_SERVER_PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    until(lambda: process.poll() is not None or is_up(f"http://127.0.0.1:{port}/readyz"))
    yield f"127.0.0.1:{port}"
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in output


def comparable(value: Any) -> Any:
    """Ids, times and cursors differ in every run, and numbers in their last digits."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, float):
        return pytest.approx(value, abs=2e-3)
    return VARYING.sub("…", value) if isinstance(value, str) else value


def test_the_requests_answer_what_is_shown(served: str, environment: dict[str, str]):
    requests = [command for command in COMMANDS if ADDRESS in command]
    assert len(requests) >= 4
    for command in requests:
        done = subprocess.run(
            ["bash", "-c", command.replace(ADDRESS, served)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        shown = SHOWN[command]
        answer = json.loads(done.stdout)
        assert list(answer) == list(shown)
        assert comparable_exact(answer) == comparable(shown)


def comparable_exact(value: Any) -> Any:
    """What an answer is compared as: only ids and times are taken out."""
    return json.loads(VARYING.sub("…", json.dumps(value, ensure_ascii=False)))


def test_every_other_command_runs(home: Path, environment: dict[str, str]):
    others = [command for command in COMMANDS if ADDRESS not in command and command != "make serve"]
    assert others
    for command in others:
        # The tests do not run themselves again: make says what it would do.
        real = command.replace("make test", "make --dry-run test")
        done = subprocess.run(
            ["bash", "-c", real],
            cwd=ROOT,
            env=environment | {"MEMEX_HOME": str(home), "MEMEX_SERVER_PORT": str(free_port())},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_ci_runs_the_checks_and_the_readme_s_test_command_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("make")] == ["make check", "make test"]
    assert "make test" in COMMANDS


def test_what_is_done_already_is_quick_and_silent(environment: dict[str, str]):
    done = subprocess.run(
        ["make", "--silent", ".venv/.dev", ".venv/.native"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
