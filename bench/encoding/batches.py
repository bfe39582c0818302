"""What the encoders are given: random tokens of the packaged vocabulary, of chosen lengths."""

import itertools
from collections.abc import Iterator

import numpy as np

from memex.embedder.encoder import Tokens

FIRST, LAST = 1_000, 30_000
"""Whole words and pieces of the vocabulary: neither special nor unused tokens."""


def texts(lengths: list[int], seed: int = 0) -> list[Tokens]:
    """One text of each length."""
    random = np.random.default_rng(seed)
    return [[101, *random.integers(FIRST, LAST, length - 2).tolist(), 102] for length in lengths]


def equal(tokens: int, batch: int) -> list[list[Tokens]]:
    """Several batches of one length, so that no two calls see the same texts."""
    return [texts([tokens] * batch, seed) for seed in range(8)]


def mixed(low: int, high: int, batch: int) -> list[list[Tokens]]:
    """Several batches of lengths that are uniform between `low` and `high`."""
    return [texts(np.random.default_rng(seed).integers(low, high + 1, batch).tolist(), seed) for seed in range(8)]


def endless(batches: list[list[Tokens]]) -> Iterator[list[Tokens]]:
    """The batches, over and over."""
    return itertools.cycle(batches)
