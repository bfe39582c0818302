"""The fused ranking in float64, from the formula of the contract and from nothing else."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from memex.model import Hit, IndexRow, Mode, Ranking, Scope

DAY = 86_400_000_000
TIE = 1e-5


def rank(rows: Iterable[IndexRow], ranking: Ranking) -> list[Hit]:
    """The exact best k, best first."""
    scored = score_all(rows, ranking)
    return order(scored, ranking)[: ranking.k]


def score_all(rows: Iterable[IndexRow], ranking: Ranking) -> list[tuple[IndexRow, Hit]]:
    """Every row that may be a hit, with its score; before min_score, ties and collapsing."""
    visible = [row for row in rows if is_visible(row, ranking)]
    lexical = bm25(visible, ranking)
    only = named(ranking)
    return [
        (row, score(row, bm25, ranking))
        for row, bm25 in zip(visible, lexical, strict=True)
        if passes(row, ranking) and (only is None or row.id in only)
    ]


def is_visible(row: IndexRow, ranking: Ranking) -> bool:
    alive = row.expires_at is None or row.expires_at > ranking.now
    states = ("active", "archived") if ranking.include_archived else ("active",)
    return alive and row.state in states and is_readable(row, ranking.scope)


def is_readable(row: IndexRow, scope: Scope) -> bool:
    if row.agent_id == scope.agent_id:
        return True
    return row.visibility == "shared" and (scope.others is None or row.agent_id in scope.others)


def passes(row: IndexRow, ranking: Ranking) -> bool:
    after, before = ranking.created_after, ranking.created_before
    return (
        (ranking.types is None or row.memory_type in ranking.types)
        and (after is None or row.created_at >= after)
        and (before is None or row.created_at < before)
        and (ranking.tags_any is None or not set(ranking.tags_any).isdisjoint(row.tags))
        and (ranking.tags_all is None or set(ranking.tags_all).issubset(row.tags))
        and ranking.session_id in (None, row.session_id)
        and ranking.source in (None, row.source)
    )


def named(ranking: Ranking) -> set[bytes] | None:
    """The ids that a search is limited to; None is no limit."""
    only = ranking.only
    return None if only is None else {only[at : at + 16] for at in range(0, len(only), 16)}


def bm25(documents: Sequence[IndexRow], ranking: Ranking) -> list[float]:
    """Of each document, with statistics over all of them."""
    if ranking.mode is Mode.SEMANTIC:
        return [0.0] * len(documents)
    counts = [dict(zip(d.terms, d.term_counts, strict=True)) for d in documents]
    lengths = [sum(d.term_counts) for d in documents]
    df = Counter(term for d in documents for term in d.terms)
    average = sum(lengths) / max(len(lengths), 1)
    query = list(zip(ranking.terms.ids, ranking.terms.counts, strict=True))

    def of(document: dict[int, int], length: int) -> float:
        total = 0.0
        for term, repeats in query:
            if term in document:
                idf = math.log1p((len(documents) - df[term] + 0.5) / (df[term] + 0.5))
                tf = document[term]
                total += repeats * idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * length / average))
        return total

    return [of(document, length) for document, length in zip(counts, lengths, strict=True)]


def cosine(row: IndexRow, vector: npt.NDArray[np.float32] | None, mode: Mode) -> float | None:
    if vector is None or mode is Mode.KEYWORD or not row.vectors:
        return None
    chunks = [np.frombuffer(chunk, "<f2").astype(np.float64) for chunk in row.vectors]
    return max(float(chunk @ vector.astype(np.float64)) for chunk in chunks)


def score(row: IndexRow, lexical: float, ranking: Ranking) -> Hit:
    cos = cosine(row, ranking.vector, ranking.mode)
    span = ranking.ceiling - ranking.floor
    semantic = 0.0 if cos is None else min(max((cos - ranking.floor) / span, 0.0), 1.0)
    keyword = lexical / (lexical + 16)
    relevance = {
        Mode.SEMANTIC: semantic,
        Mode.KEYWORD: keyword,
        Mode.HYBRID: 0.5 * semantic + 0.5 * keyword,
    }[ranking.mode]
    age = max(ranking.now - row.created_at, 0)
    recency = float(np.exp2(-(age / (ranking.half_life_days * DAY))))
    importance = 1 + ranking.importance_weight * (row.importance - 1)
    final = (ranking.alpha * relevance + (1 - ranking.alpha) * recency) * importance
    return Hit(row.id, final, cos, lexical, relevance, recency, importance, 0)


def order(scored: list[tuple[IndexRow, Hit]], ranking: Ranking) -> list[Hit]:
    """All hits in the order of answers."""
    kept = [(row, hit) for row, hit in scored if ranking.min_score is None or hit.score >= ranking.min_score]
    kept.sort(key=lambda pair: (-pair[1].score, -pair[0].created_at, pair[0].id))
    if ranking.collapse:
        kept = one_of_each_text(kept, Counter(row.content_hash for row, _ in scored))
    answer: list[Hit] = []
    while kept:
        leader = kept[0][1].score
        group = [pair for pair in kept if pair[1].score >= leader - TIE]
        group.sort(key=lambda pair: (-pair[0].created_at, pair[0].id))
        answer += [hit for _, hit in group]
        kept = kept[len(group) :]
    return answer


def one_of_each_text(kept: list[tuple[IndexRow, Hit]], texts: Counter[bytes]) -> list[tuple[IndexRow, Hit]]:
    first: dict[bytes, tuple[IndexRow, Hit]] = {}
    for row, hit in kept:
        parts = (hit.id, hit.score, hit.cosine, hit.lexical, hit.relevance, hit.recency, hit.importance)
        first.setdefault(row.content_hash, (row, Hit(*parts, duplicates=texts[row.content_hash] - 1)))
    return list(first.values())
