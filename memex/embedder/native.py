"""The engine for processors that the compiled encoder has a fast path for, and for models with a weights file."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memex import _native
from memex.embedder.encoder import Tokens
from memex.embedder.models.card import Card
from memex.embedder.models.directory import damaged
from memex.embedder.vectors import Vectors
from memex.errors import EncoderFailed

log = logging.getLogger(__name__)


def is_fast() -> bool:
    """Whether this machine has the instruction set that makes this engine the faster one."""
    return _native.build_info()["encoder"] != "scalar"


class NativeEncoder:
    """One model for all streams. Each stream takes memory of a fixed size, and keeps it for the next call."""

    engine = "native"
    ragged = True

    def __init__(self, weights: Path, card: Card, streams: int, isa: str = "auto") -> None:
        """Reads the weights file, about 0.1 s. Raises ModelDamaged. `isa` is for tests: all give the same bits."""
        self.streams = streams
        try:
            self._encoder = _native.Encoder(weights, card.pooling, isa)
        except ValueError as error:
            raise damaged(weights.parent, weights.name, str(error)) from error
        if (self._encoder.dimensions, self._encoder.window) != (card.dimensions, card.window):
            raise damaged(weights.parent, weights.name, "has other dimensions or another window than the card says")

    def encode(self, batch: Sequence[Tokens]) -> Vectors:
        """f32[len(batch), dimensions], of texts of any lengths. Raises EncoderFailed."""
        try:
            vectors = self._encoder.encode(batch)
        except (ValueError, RuntimeError) as error:
            log.error("the native encoder failed on %d texts: %s", len(batch), error)  # noqa: TRY400 - says it all
            raise EncoderFailed from error
        return np.frombuffer(vectors, dtype="<f4").reshape(len(batch), -1)
