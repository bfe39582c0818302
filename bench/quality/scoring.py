"""The measures of all questions of a data set, together and by category, with their intervals."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bench.pairs import Interval, mean_interval
from bench.quality.dataset import Dataset, Question
from bench.quality.measures import MEASURES
from bench.quality.retrieval import Answer

Figures = dict[str, Any]
Asked = tuple[Question, Answer]


def retrieval_figures(dataset: Dataset, answers: Sequence[Answer]) -> Figures:
    """Means over the questions that have an answer; what the others got is only counted and shown by score."""
    pairs = list(zip(dataset.questions, answers, strict=True))
    answerable = [pair for pair in pairs if pair[0].relevant]
    categories: dict[str, list[Asked]] = defaultdict(list)
    for pair in answerable:
        categories[pair[0].category].append(pair)
    figures: Figures = {"all": measured(answerable)}
    if len(categories) > 1:
        figures["categories"] = {name: measured(categories[name]) for name in sorted(categories)}
    if len(answerable) < len(pairs):
        figures["unanswerable"] = refused(pairs)
    return figures


def measured(pairs: Sequence[Asked]) -> Figures:
    """Every measure's mean over these questions."""
    means = {
        name: rounded(mean_interval([measure(answer.ranked, question.relevant) for question, answer in pairs]))
        for name, measure in MEASURES.items()
    }
    return {"questions": len(pairs), **means}


def refused(pairs: Sequence[Asked]) -> Figures:
    """Whether a bar on the score could tell questions without an answer from the others: the mean best scores."""
    best: dict[bool, list[float]] = {False: [], True: []}
    for question, answer in pairs:
        if answer.best is not None:
            best[bool(question.relevant)].append(answer.best)
    means = {name: rounded(mean_interval(best[side])) for name, side in SIDES.items() if best[side]}
    return {"questions": sum(not question.relevant for question, _ in pairs), **means}


SIDES = {"best_score": False, "best_score_of_answerable": True}


def rounded(interval: Interval) -> Interval:
    """Four decimals."""
    return Interval(*(round(value, 4) for value in (interval.value, interval.low, interval.high)))
