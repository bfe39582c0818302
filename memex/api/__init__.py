"""The REST surface."""

from memex.api.surface import create_api, create_tools

__all__ = ["create_api", "create_tools"]
