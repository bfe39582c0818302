"""Rounds a weight matrix to int8 so that its outputs, not its weights, stay where they were."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from memex.embedder.models.build.bert import Doubles, Floats

LIMIT = 127
SHRINK = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
DAMPING = 0.01
BLOCK = 64


class Rounded(msgspec.Struct, frozen=True):
    """`codes * scale` stands for a weight [inputs, outputs]."""

    codes: NDArray[np.int8]
    scale: Floats
    """[outputs]."""
    loss: float
    """Squared error of the outputs relative to the outputs, over the calibration texts."""


def round_weight(weight: Doubles, moments: Doubles) -> Rounded:
    """GPTQ: rounds one input after another and lets the inputs still to come make good the error.

    `moments` is `xᵀx` of the calibration inputs, [inputs, inputs]. All in float64, and every order is
    fixed, so that equal input gives equal codes with a single-threaded BLAS.
    """
    scale = choose_scale(weight, np.diag(moments))
    order = np.argsort(-np.diag(moments), kind="stable")
    damped = moments + np.eye(len(moments)) * DAMPING * np.mean(np.diag(moments))
    codes = np.empty(weight.shape, np.int8)
    codes[order] = compensate(weight[order], scale, damped[np.ix_(order, order)])
    return Rounded(codes, scale.astype(np.float32), loss(weight, codes * scale, moments))


def choose_scale(weight: Doubles, importance: Doubles) -> Doubles:
    """For each output the scale of least weighted error; a little clipping often beats the full range."""
    full = np.maximum(np.abs(weight).max(0), 1e-12)
    candidates = [(full * share / LIMIT).astype(np.float32).astype(np.float64) for share in SHRINK]
    errors = [np.square(nearest(weight, scale) * scale - weight).T @ importance for scale in candidates]
    return np.asarray(np.choose(np.argmin(errors, axis=0), candidates))


def nearest(weight: Doubles, scale: Doubles) -> Doubles:
    """Plain rounding to codes."""
    return np.clip(np.rint(weight / scale), -LIMIT, LIMIT)


def compensate(weight: Doubles, scale: Doubles, moments: Doubles) -> Doubles:
    """The codes of all inputs in the given order."""
    rest = weight.copy()
    codes = np.zeros_like(rest)
    spread = np.linalg.cholesky(np.linalg.inv(moments)).T
    for start in range(0, len(rest), BLOCK):
        block = slice(start, min(start + BLOCK, len(rest)))
        errors = compensate_block(rest[block], codes[block], scale, spread[block, block])
        rest[block.stop :] -= spread[block, block.stop :].T @ errors
    return codes


def compensate_block(rest: Doubles, codes: Doubles, scale: Doubles, spread: Doubles) -> Doubles:
    """Fills `codes` of one block of inputs and gives the errors that later blocks have to bear."""
    errors = np.empty_like(rest)
    for row in range(len(rest)):
        codes[row] = nearest(rest[row], scale)
        errors[row] = (rest[row] - codes[row] * scale) / spread[row, row]
        rest[row + 1 :] -= np.outer(spread[row, row + 1 :], errors[row])
    return errors


def loss(weight: Doubles, rounded: Doubles, moments: Doubles) -> float:
    """Relative squared error of the outputs."""
    change = weight - rounded
    return float(np.sum(change * (moments @ change)) / np.sum(weight * (moments @ weight)))


def round_rows(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A table of embeddings [rows, dimensions] as int8 with one scale a row."""
    scale = np.maximum(np.abs(table).max(1) / np.float32(LIMIT), np.float32(1e-12)).astype(np.float32)
    return np.clip(np.rint(table / scale[:, None]), -LIMIT, LIMIT).astype(np.int8), scale
