"""What every micro-benchmark needs: a release build, one thread for all, and the service's own event loop."""

import asyncio
import os
import sys
from collections.abc import Iterator

import pytest
import uvloop

from memex import _native


def pytest_configure() -> None:
    """NumPy's products and the tokenizer's batches use every core unless they are told before they are loaded."""
    if "numpy" in sys.modules:
        pytest.exit("NumPy was loaded before it could be held to one thread", returncode=1)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def pytest_report_header() -> str:
    """How the native module was built, printed above the results."""
    return "native: " + ", ".join(f"{name} {value}" for name, value in _native.build_info().items())


@pytest.fixture(scope="session", autouse=True)
def release_build() -> None:
    """A debug build is some hundred times slower: its figures say nothing."""
    if _native.build_info()["profile"] != "release":
        pytest.exit("the native module is a debug build: run make .venv/.native", returncode=1)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop of the kind that serves, not running."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner.get_loop()
