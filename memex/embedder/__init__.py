"""From text to vectors: what the service and the app use."""

from memex.embedder.embedder import Embedder, open_embedder
from memex.embedder.vectors import Vector, own, to_half

__all__ = ["Embedder", "Vector", "open_embedder", "own", "to_half"]
