"""Embedding vectors: their types, and what makes one fit to be stored or compared."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memex.errors import EncoderFailed, Invalid, Problem

Vector = npt.NDArray[np.float32]
"""f32[dimensions], finite, of unit length, read-only."""
Vectors = npt.NDArray[np.float32]
"""f32[texts, dimensions], as an encoder gives them: not yet checked."""

# Rounding in f32 and int8 stays four orders below this; what lies beyond is no unit vector at all.
TOLERANCE = 1e-3


def unit(row: npt.NDArray[np.float32]) -> Vector:
    """A read-only copy of one row of a batch, which would keep the whole batch alive.

    Raises EncoderFailed where it is not finite or not of unit length, so such a vector goes nowhere.
    """
    vector = np.array(row, dtype=np.float32)
    # A NaN or an infinity in any element makes the length one too, and the comparison false.
    if not abs(length(vector) - 1.0) < TOLERANCE:
        raise EncoderFailed
    vector.flags.writeable = False
    return vector


def own(numbers: Sequence[float], dimensions: int) -> Vector:
    """A caller's own vector, of any length but zero, as one of unit length.

    Raises Invalid where it has other than `dimensions` numbers, where one is not finite, or where all are zero.
    """
    values = np.array(numbers, dtype=np.float64)
    if len(values) != dimensions:
        raise unfit(f"embedding should have {dimensions} numbers, as vectors of the current model have", len(values))
    most = float(np.abs(values).max())
    if not math.isfinite(most) or most == 0.0:
        raise unfit("embedding should be finite numbers that are not all zero", most)
    values /= most  # so that no square is too large or too small for a float
    return unit((values / np.linalg.norm(values)).astype(np.float32))


def unfit(wanted: str, got: float) -> Invalid:
    """The fault of an `embedding` in a body."""
    return Invalid([Problem("value_error", ("body", "embedding"), f"Value error, {wanted}", str(got))])


def mean(vectors: Sequence[Vector]) -> Vector:
    """The direction between several vectors. Raises EncoderFailed where they cancel out."""
    middle = np.stack(vectors).mean(axis=0, dtype=np.float32)
    size = length(middle)
    if not size > TOLERANCE:
        raise EncoderFailed
    return unit(middle / np.float32(size))


def length(vector: npt.NDArray[np.float32]) -> float:
    """The Euclidean length; not finite where an element is not."""
    with np.errstate(all="ignore"):
        return math.sqrt(float(vector @ vector))


def to_half(vector: Vector) -> bytes:
    """Little-endian f16, as vectors are stored and as the resident index takes them: 2 bytes a dimension."""
    return vector.astype("<f2").tobytes()
