"""Recall and NDCG of one ranked list, as the information-retrieval literature defines them."""

import math
from collections.abc import Collection, Sequence


def recall(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The part of `relevant` among the first `k`."""
    return len(set(ranked[:k]) & set(relevant)) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Binary NDCG at `k` (Järvelin and Kekäläinen 2002): Σ 1/log2(rank + 1) over the relevant, by its best value."""
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(ranked[:k]) if item in relevant)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), k)))
    return gain / best
