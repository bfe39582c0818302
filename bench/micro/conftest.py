"""What every micro-benchmark needs: a release build, and one thread for all."""

import os
import sys

import pytest

from memex import _native


def pytest_configure() -> None:
    """NumPy's products use every core unless its library is told before it is loaded."""
    if "numpy" in sys.modules:
        pytest.exit("NumPy was loaded before it could be held to one thread", returncode=1)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def pytest_report_header() -> str:
    """How the native module was built, printed above the results."""
    return "native: " + ", ".join(f"{name} {value}" for name, value in _native.build_info().items())


@pytest.fixture(scope="session", autouse=True)
def release_build() -> None:
    """A debug build is some hundred times slower: its figures say nothing."""
    if _native.build_info()["profile"] != "release":
        pytest.exit("the native module is a debug build: run make .venv/.native", returncode=1)
