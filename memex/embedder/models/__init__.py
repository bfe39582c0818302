"""Model directories: what a model is, and the checked opening of one."""

from memex.embedder.models.card import Card
from memex.embedder.models.directory import ModelDirectory, open_model

__all__ = ["Card", "ModelDirectory", "open_model"]
