"""STS-B (Cer et al. 2017) through a memory service: the scores of pairs beside people's judgement.

Each pair has a space of its own, which holds the second sentence; the first is the query, and the score of the only
hit is the pair's. Spearman's ρ needs nothing but the order, so any increasing function of the cosine will do. memex
clips its similarity, which makes ties: one that is started here runs with floor 0 and ceiling 1, where nothing is
clipped that a cosine of this model reaches, and its four decimals are all that is lost.
A model that tells queries from passages sees one sentence of each pair as either.

python -m bench.quality.stsb --data FOLDER    (with stsb-en-test.csv and others)
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from bench.pairs import RESAMPLES, SEED, Interval
from bench.quality.command import Target, Task, data_option, measure, target_options
from bench.quality.dataset import Dataset, Memory, Question
from bench.quality.measures import Values, places, rank_correlation
from bench.quality.retrieval import Answer
from bench.quality.scoring import Figures, rounded
from bench.quality.services.dialect import WrongAnswer

UNCLIPPED = {"MEMEX_RANKING_SIMILARITY_FLOOR": "0", "MEMEX_RANKING_SIMILARITY_CEILING": "1"}


@click.command()
@data_option("Folder with stsb-en-test.csv and others.", folder=True)
@click.option("--language", multiple=True, help="en or zh; again for more; all of the folder by default.")
@target_options
def main(data: Path, language: tuple[str, ...], target: Target) -> None:
    """Spearman's ρ of scores and judgements."""
    for task in tasks(data, language):
        measure(task, target)


def tasks(folder: Path, languages: tuple[str, ...] = ()) -> list[Task]:
    """One for each of those languages, or of all files there are."""
    chosen = languages or tuple(sorted(path.name.split("-")[1] for path in folder.glob("stsb-*-test.csv")))
    if not chosen:
        raise click.UsageError(f"no stsb-*-test.csv in {folder}")
    return [
        Task(read(folder / f"stsb-{code}-test.csv", code), 1, correlation, UNCLIPPED, "semantic") for code in chosen
    ]


def read(path: Path, language: str) -> Dataset:
    """One question a pair, its only memory graded with the judgement; rows without a judgement are left out."""
    memories: list[Memory] = []
    questions: list[Question] = []
    unjudged = 0
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file)):
            judgement = score(row)
            if judgement is None:
                unjudged += 1
                continue
            user = f"{language}-{number}"
            memories.append(Memory(user, user, row[1]))
            questions.append(Question(user, row[0], {user: judgement}, language))
    return Dataset(f"stsb-{language}", memories, questions, {"pairs without a judgement": unjudged})


def score(row: Sequence[str]) -> float | None:
    """The third column, 0 to 5, None if it or a sentence is missing."""
    if len(row) < 3 or not all(cell.strip() for cell in row[:3]):
        return None
    value = float(row[2])
    return None if math.isnan(value) else value


def correlation(dataset: Dataset, answers: Sequence[Answer]) -> Figures:
    """ρ over all pairs, and how many different scores there were: few mean ties."""
    scores = [answer.best for answer in answers if answer.best is not None]
    if len(scores) < len(answers):
        raise WrongAnswer(f"{len(answers) - len(scores)} of {len(answers)} pairs got no score")
    judged = [next(iter(question.relevant.values())) for question in dataset.questions]
    rho = correlation_interval(np.array(scores), np.array(judged))
    return {"pairs": len(scores), "spearman": rounded(rho), "different_scores": len(set(scores))}


def correlation_interval(scores: Values, judged: Values) -> Interval:
    """ρ and its 95 % percentile-bootstrap interval over pairs."""
    chooser = np.random.default_rng(SEED)
    first, second = places(scores), places(judged)
    samples = (chooser.integers(0, len(scores), len(scores)) for _ in range(RESAMPLES))
    low, high = np.percentile([rank_correlation(first[sample], second[sample]) for sample in samples], [2.5, 97.5])
    return Interval(rank_correlation(first, second), float(low), float(high))


if __name__ == "__main__":
    main()
