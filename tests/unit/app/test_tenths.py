"""Progress in the log."""

import logging

import pytest

from memex.app.tenths import MEGABYTE, tenths


def test_each_tenth_of_what_is_large_is_one_line(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    tell = tenths("fetching ")
    for done in range(201):
        tell("model", done * MEGABYTE // 2, 100 * MEGABYTE)
        tell("note", done, 200)
    expected = [f"fetching model: {megabytes} of 100 MB" for megabytes in range(10, 101, 10)]
    assert [record.getMessage() for record in caplog.records] == expected
