"""memex: fast, exact, durable long-term memory for AI agents."""

from importlib.metadata import version

__version__ = version("memex")

__all__ = ["__version__"]
