"""Progress in the log."""

import logging
import time

import pytest

from memex.app.tenths import MEGABYTE, PAUSE, tenths


def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, step: float) -> list[str]:
    """The lines of 201 calls, with `step` seconds between them."""
    caplog.set_level(logging.INFO)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    tell = tenths("fetching ")
    for done in range(201):
        tell("model", done * MEGABYTE // 2, 100 * MEGABYTE)
        tell("note", done, 200)
        now[0] += step
    return [record.getMessage() for record in caplog.records]


def test_each_tenth_of_what_is_large_is_one_line(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    expected = [f"fetching model: {megabytes} of 100 MB" for megabytes in range(10, 101, 10)]
    assert said(caplog, monkeypatch, PAUSE) == expected


@pytest.mark.parametrize(("whole", "lines"), [(PAUSE * 0.9, 0), (PAUSE * 2.5, 2)])
def test_what_is_quick_is_no_flood(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, whole: float, lines: int
):
    assert len(said(caplog, monkeypatch, whole / 200)) == lines
