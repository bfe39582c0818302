"""What every engine that runs a model offers."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from memex.embedder.vectors import Vectors

Tokens = Sequence[int]
"""Token ids of one text, special tokens and prefix included, at most the model's window."""


class Role(StrEnum):
    """What a text is to the model: something asked, or something remembered."""

    QUERY = "query"
    PASSAGE = "passage"


class Encoder(Protocol):
    """Runs the model. Within one engine a text's vector depends on that text alone, to the last bit."""

    @property
    def engine(self) -> str:
        """Its name, part of the cache key and shown to people."""

    @property
    def streams(self) -> int:
        """How many threads may call `encode` at the same time."""

    @property
    def ragged(self) -> bool:
        """Whether one batch may mix lengths. If not, all texts of a batch have the same length."""

    def encode(self, batch: Sequence[Tokens]) -> Vectors:
        """f32[len(batch), dimensions]. Blocks without holding the interpreter. Raises EncoderFailed."""
