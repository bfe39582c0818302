"""The REST surface."""

from memex.api.surface import create_api

__all__ = ["create_api"]
