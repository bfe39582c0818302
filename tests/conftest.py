"""Fixtures for all tests; each file of `fixtures` is one plugin."""

import os

# Some tests load onnxruntime themselves, which would report its use over the network.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

pytest_plugins = [
    "tests.fixtures.db",
    "tests.fixtures.embedded",
    "tests.fixtures.process",
    "tests.fixtures.encoder",
    "tests.fixtures.app",
    "tests.fixtures.relay",
    "tests.fixtures.wheels",
]
