"""Log lines: one a record, each with its request's id, and in JSON if so set."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator

import pytest

from memex import logs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test configures is undone after it."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, logs.QUIET)]
    before = [logger.level for logger in loggers]
    handlers = root.handlers[:]
    yield
    root.handlers[:] = handlers
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


def test_a_line_of_text_has_time_level_place_request_and_message(capfd: pytest.CaptureFixture[str]):
    logs.configure("info", "text")
    logging.getLogger("memex.store").info("%d rows of %s", 3, "ana")
    (line,) = printed(capfd)
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO memex\.store - 3 rows of ana"
    assert re.fullmatch(pattern, line)


@pytest.mark.parametrize(
    "message", ["plain", 'with "quotes"', "two\nlines", "小明 \u2028 \ud83d", "nul \0 and \x1b[31m"]
)
def test_a_line_of_json_is_one_valid_object_whatever_it_says(message: str):
    record = logging.LogRecord("memex", logging.WARNING, "", 0, message, None, None)
    line = logs.JsonLine().format(record)
    assert "\n" not in line
    assert line.encode("utf-8", "strict")
    found = json.loads(line)
    assert found["message"].encode("utf-8", "replace") == message.encode("utf-8", "replace")
    assert (found["level"], found["logger"], found["request_id"]) == ("WARNING", "memex", "-")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_trace_is_told_with_its_record(capfd: pytest.CaptureFixture[str], form: str):
    logs.configure("info", form)
    logging.getLogger("memex").error("failed", exc_info=LookupError("the reason"))
    lines = printed(capfd)
    if form == "json":
        (line,) = lines
        assert "LookupError: the reason" in json.loads(line)["trace"]
    else:
        assert lines[0].endswith("failed")
        assert lines[-1] == "LookupError: the reason"


async def test_requests_at_once_keep_their_ids_apart():
    lines: dict[str, str] = {}
    both = asyncio.Barrier(2)

    async def request(identity: str) -> None:
        logs.request_id.set(identity)
        await both.wait()
        lines[identity] = logs.Line().format(logging.LogRecord("memex", logging.INFO, "", 0, "x", None, None))

    await asyncio.gather(request("one"), request("two"))
    assert all(f" {identity} x" in line for identity, line in lines.items())
    assert len(lines) == 2


def test_levels_act_and_libraries_are_quiet(capfd: pytest.CaptureFixture[str]):
    logs.configure("info", "text")
    logging.getLogger("memex.any.place").debug("hidden")
    logging.getLogger("memex.any.place").info("shown")
    for name in logs.QUIET:
        logging.getLogger(name).info("hidden")
    assert [line.split()[-1] for line in printed(capfd)] == ["shown"]
    logs.configure("error", "text")
    logging.getLogger("memex").warning("hidden")
    logging.getLogger(logs.QUIET[0]).warning("hidden")
    assert printed(capfd) == []


def test_configuring_again_does_not_say_things_twice(capfd: pytest.CaptureFixture[str]):
    for _ in range(2):
        logs.configure("info", "json")
    logging.getLogger("memex").info("once")
    assert len(printed(capfd)) == 1
