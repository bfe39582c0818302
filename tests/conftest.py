"""Fixtures for all tests; each file of `fixtures` is one plugin."""

pytest_plugins = [
    "tests.fixtures.db",
    "tests.fixtures.embedded",
    "tests.fixtures.process",
    "tests.fixtures.encoder",
    "tests.fixtures.app",
    "tests.fixtures.relay",
]
