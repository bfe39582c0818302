"""memex: fast, exact, durable long-term memory for AI agents."""

from typing import Any

__version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    """`__version__`, looked up when it is asked for: what finds it would load before the command's first line."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import version  # noqa: PLC0415

    globals()[name] = version("memex")
    return globals()[name]
