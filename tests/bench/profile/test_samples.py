import sys

import pytest

from bench.profile import native, python
from bench.profile.sampling import sampled

SPIED = [
    'process 7:"python -c a; b(c=1) --fork";serve (memex/api/door.py:12);rank (memex/index/ranking.py:9) 3',
    'process 7:"python";serve (memex/api/door.py:15) 1',
    'process 7:"python" 9',
    'process 7:"python";_serve (memex/embedder/batcher.py:5);Condition.wait (threading.py:320) 20',
]
COUNTED = [
    "          python  7f00 [unknown] (/x/onnxruntime/capi/onnxruntime.so)",
    "   memex encoder  7f00 [unknown] (/x/onnxruntime/capi/onnxruntime.so)",
    " tokio-rt-worker  ffff finish task ([kernel.kallsyms])",
    "      postgres  7f01 hash_search (/x/bin/postgres)",
    "",
]


def test_own_time_is_the_innermost_frame_total_time_all_and_waiting_none():
    found = python.profile(SPIED)
    assert found.samples == 4
    assert found.layers == {"index": 75.0, "door": 25.0}
    assert [(one.name, one.file, one.own, one.total) for one in found.functions] == [
        ("rank", "memex/index/ranking.py", 75.0, 75.0),
        ("serve", "memex/api/door.py", 25.0, 100.0),
    ]


def test_a_recursion_counts_once():
    found = python.profile(["f (a.py:1);f (a.py:2);f (a.py:3) 2"])
    assert [(one.own, one.total) for one in found.functions] == [(100.0, 100.0)]


@pytest.mark.parametrize(
    ("part", "frame"),
    [
        ("f.<locals>.g (a/b.py:3)", ("f.<locals>.g", "a/b.py")),
        ("send (uvicorn/protocols/http/h11_impl.py:9)", ("send", "uvicorn/protocols/http/h11_impl.py")),
        ("<module> (<string>:1)", ("<module>", "<string>")),
        ("run (/home/someone/place/pkg/sub/file.py:3)", ("run", "pkg/sub/file.py")),
        ("thread (12): MainThread", None),
        (' b(c=1) --fork"', None),
    ],
)
def test_frames(part: str, frame: python.Frame | None):
    assert python.frame_of(part) == frame


def test_programs_and_libraries_are_told_apart():
    found = native.native(COUNTED)
    assert found.samples == 4
    assert found.layers == {"onnxruntime": 50.0, "kernel": 25.0, "PostgreSQL": 25.0}
    assert ("hash_search", "postgres", "postgres") in {(one.name, one.library, one.program) for one in found.symbols}


async def run(code: str, ready: bytes) -> tuple[bool, str, int]:
    turns = []

    async def work() -> None:
        turns.append(1)

    done = await sampled([sys.executable, "-c", code], ready, work)
    return done.failed, done.said, len(turns)


async def test_the_load_begins_when_the_program_says_so():
    assert await run("print('one\\nready\\nlast')", b"ready") == (False, "one\nready\nlast", 1)


async def test_a_program_that_is_refused_is_told_from_one_that_ran():
    assert await run("raise SystemExit('not permitted')", b"ready") == (True, "not permitted", 0)
    assert await run("print('ready'); raise SystemExit(3)", b"ready") == (True, "ready", 1)


async def test_a_program_without_a_word_runs_beside_the_load():
    assert await run("pass", b"") == (False, "", 1)
