"""`memex mcp` over stdio: what its pipes carry, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.fixtures.process import OWN, Process, end_database, speaks_of
from tests.fixtures.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("system")
Serve = Callable[..., Process]

ANA = {"agent_id": "assistant", "user_id": "ana"}
CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
NOISE = [
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b"[1]", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": {"name": "count_memories"}}', -32600),
    (rb'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "\udfff"}', -32600),
    (rb'{"jsonrpc": "2.0", "id": 1, "method": "ping", "\ud800": 1}', -32600),
    (b"x" * (3 * 2**20), -32600),
]


class Pipe:
    """A `memex mcp` whose pipes the test holds itself."""

    def __init__(self, home: Path, *options: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.upper().startswith(OWN)}
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "memex", "mcp", "--data-dir", str(home), *options],
            env=clean,
            cwd=tempfile.gettempdir(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, raw: bytes) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(raw + b"\n")
        self.popen.stdin.flush()

    def hear(self) -> Any:
        assert self.popen.stdout is not None
        return json.loads(self.popen.stdout.readline())

    def ask(self, method: str, params: Any = None, identity: Any = 1) -> Any:
        self.say(json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}).encode())
        return self.hear()

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": ANA | arguments})["result"]

    def children(self) -> list[psutil.Process]:
        found: list[psutil.Process] = psutil.Process(self.popen.pid).children(recursive=True)
        return found

    def end(self) -> tuple[int, bytes, str]:
        """Closes its input; the exit code, and what it said that nobody read yet."""
        out, log = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, out, log.decode()


@pytest.fixture
def pipe(home: Path) -> Iterator[Pipe]:
    opened = Pipe(home)
    yield opened
    if opened.popen.poll() is None:
        opened.popen.kill()
    opened.popen.communicate()
    end_database(home)


def test_it_ends_with_its_input_and_leaves_no_process(pipe: Pipe, home: Path):
    assert pipe.ask("initialize", HELLO)["result"]["serverInfo"]["name"] == "memex"
    assert pipe.call("store_memory", content="tea")["isError"] is False
    children = pipe.children()
    assert any(speaks_of(child, "postgres") for child in children)
    code, out, log = pipe.end()
    assert (code, out) == (0, b"")
    assert "Traceback" not in log
    assert "tea" not in log
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []
    assert not list(home.glob("data/**/postmaster.pid"))


def test_it_answers_all_that_was_piped_in_before_it_ends(pipe: Pipe):
    lines: list[dict[str, Any]] = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]
    lines += [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    stores = [{"name": "store_memory", "arguments": ANA | {"content": f"number {n}"}} for n in range(30)]
    lines += [{"jsonrpc": "2.0", "id": n + 1, "method": "tools/call", "params": call} for n, call in enumerate(stores)]
    out, log = pipe.popen.communicate("\n".join(map(json.dumps, lines)).encode(), timeout=PATIENCE)
    answers = [json.loads(line) for line in out.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(31))
    assert not any(answer["result"].get("isError") for answer in answers)
    assert (pipe.popen.returncode, "Traceback" in log.decode()) == (0, False)


def test_noise_on_the_wire_costs_an_answer_and_no_more(pipe: Pipe):
    pipe.ask("initialize", HELLO)
    for raw, code in NOISE:
        pipe.say(raw)
        answer = pipe.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
    pipe.say(b"")
    assert pipe.ask("ping", identity="\ud800")["id"] == "\ud800"
    told = pipe.call("search_memories", query="\ud800")
    assert told["content"][0]["text"] == "query: Value error, text must not hold an unpaired surrogate"
    assert pipe.call("count_memories")["structuredContent"]["count"] == 0


def test_what_is_said_to_be_cancelled_may_be_anything(pipe: Pipe):
    pipe.ask("initialize", HELLO)
    for named in ({}, {"requestId": None}, {"requestId": {"a": 1}}, {"requestId": [1]}, {"requestId": 1e300}):
        pipe.say(json.dumps(CANCELLED | {"params": named}).encode())
    assert pipe.ask("ping")["result"] == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_stops_while_its_client_waits(pipe: Pipe, number: signal.Signals):
    pipe.ask("initialize", HELLO)
    pipe.call("count_memories")
    children = pipe.children()
    pipe.popen.send_signal(number)
    assert pipe.popen.wait(PATIENCE) == 0
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def test_a_client_that_goes_without_a_word_is_the_end(pipe: Pipe):
    pipe.ask("initialize", HELLO)
    assert pipe.popen.stdout is not None
    pipe.popen.stdout.close()
    pipe.say(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode())
    assert pipe.popen.wait(PATIENCE) == 0
    assert pipe.popen.stderr is not None
    assert b"Traceback" not in pipe.popen.stderr.read()


def test_where_it_cannot_start_it_says_so_in_one_line(home: Path):
    pipe = Pipe(home, "--database-url", "postgresql://nobody@127.0.0.1:1/none")
    assert pipe.popen.wait(PATIENCE) == 1
    _, out, log = pipe.end()
    (line,) = [line for line in log.splitlines() if not re.match(r"\d{4}-.* (INFO|WARNING) ", line)]
    assert (out, line[:7]) == (b"", "memex: ")


def test_options_of_http_are_refused_over_stdio(home: Path):
    pipe = Pipe(home, "--port", "8001")
    code, _, log = pipe.end()
    assert (code, "--transport http" in log) == (2, True)


def test_it_leaves_a_database_that_another_uses(serve: Serve, home: Path):
    served = serve().ready()
    pipe = Pipe(home)
    pipe.ask("initialize", HELLO)
    assert pipe.call("store_memory", content="tea")["isError"] is False
    assert pipe.end()[0] == 0
    assert served.postmaster().is_running()
    with served.client() as client:
        assert client.get("/v1/memories/count", params=ANA).json()["count"] == 1
    assert served.stop() == 0
