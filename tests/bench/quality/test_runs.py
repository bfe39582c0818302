"""Whole runs: against memex in process, and the commands' own rules."""

import math
import statistics
from pathlib import Path

import click
import httpx
import numpy as np
import pytest
from click.testing import CliRunner

from bench.quality import stsb
from bench.quality.catalogue import DIALECTS
from bench.quality.command import Target, Task, chosen, run, target_options
from bench.quality.dataset import Dataset, Memory, Question
from bench.quality.measures import MEASURES
from bench.quality.retrieval import Answer
from bench.quality.scoring import retrieval_figures
from bench.quality.service import Service
from bench.quality.services.dialect import WrongAnswer
from bench.quality.services.memex import Memex
from bench.results import Result
from tests.bench.quality.test_data_sets import pairs

WORDS = ("kettle", "bicycle", "harbour", "violin", "compass", "lantern", "orchard", "saddle", "anchor", "thimble")
MEMORIES = [
    Memory(f"{user}/{word}", user, f"note about the {word} of {user}") for user in ("ann", "ben") for word in WORDS
]
QUESTIONS = [Question(user, f"the {word}", {f"{user}/{word}": 1.0}, user) for user in ("ann", "ben") for word in WORDS]
UNANSWERABLE = Question("ann", "tax returns", {}, "negative")
NOTES = Dataset("notes", MEMORIES, [*QUESTIONS, UNANSWERABLE], {"nothing": 0})


async def results(rest: httpx.AsyncClient, task: Task, *modes: str) -> list[Result]:
    kept: list[Result] = []
    await run(task, Service(rest, Memex()), modes, kept.append)
    return kept


async def test_a_run_measures_every_mode_on_one_storing(rest: httpx.AsyncClient):
    found = await results(rest, Task(NOTES), "hybrid", "keyword")
    assert [result.variant for result in found] == ["notes-memex-hybrid", "notes-memex-keyword"]
    for result in found:
        figures = result.figures
        assert figures["all"]["questions"] == 20
        assert [figures["all"][name].value for name in MEASURES] == [1.0] * len(MEASURES)
        assert figures["categories"].keys() == {"ann", "ben"}
        assert figures["unanswerable"]["questions"] == 1
        assert (figures["stored"], figures["short_answers"], figures["refused"]) == (20, 0, 0)
        assert figures["left_out"] == {"nothing": 0}
        assert result.settings["search"]["body"]["collapse"] is False
        assert len(result.noise) == 2


async def test_pairs_are_scored_by_their_only_hit(rest: httpx.AsyncClient, tmp_path: Path):
    """The stand-in model counts common words, and so does the judgement here."""
    rows = ["a b c d,a b c d,5", "a b c d,a b c x,4", "a b c d,a b x y,3", "a b c d,a x y z,2", "a b c d,w x y z,0"]
    file = tmp_path / "stsb-en-test.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    task = Task(stsb.read(file, "en"), 1, stsb.correlation)
    (result,) = await results(rest, task, "semantic")
    assert result.figures["pairs"] == 5
    assert result.figures["spearman"].value >= 0.89


def answers(*ranks: int | None) -> list[Answer]:
    """For each question the rank of its answer, None for not found."""
    return [
        Answer([f"x{n}" for n in range((rank or 1) - 1)] + ["right"] * (rank is not None), 0.5, False) for rank in ranks
    ]


def asked(*categories: str) -> Dataset:
    return Dataset("d", [], [Question("u", "q", {"right": 1.0}, category) for category in categories])


def test_figures_are_means_over_questions_and_by_category():
    ranks = [1, 2, None, 4]
    figures = retrieval_figures(asked("easy", "easy", "hard", "hard"), answers(*ranks))
    gains = [0 if rank is None else 1 / math.log2(rank + 1) for rank in ranks]
    assert figures["all"]["mrr@10"].value == round(statistics.fmean([1, 0.5, 0, 0.25]), 4)
    assert figures["all"]["ndcg@10"].value == round(statistics.fmean(gains), 4)
    assert figures["categories"]["easy"]["mrr@10"].value == 0.75
    assert figures["categories"]["hard"]["hit@10"].value == 0.5
    assert figures["all"]["hit@1"].low <= 0.25 <= figures["all"]["hit@1"].high


def test_one_category_is_not_said_twice():
    assert retrieval_figures(asked("only", "only"), answers(1, 2)).keys() == {"all"}


def test_a_pair_without_a_score_ends_the_run(tmp_path: Path):
    data = stsb.read(pairs(tmp_path), "en")
    with pytest.raises(WrongAnswer, match="1 of 2 pairs got no score"):
        stsb.correlation(data, [Answer(["en-0"], 0.5, False), Answer(["en-4"], None, False)])


def test_the_interval_of_a_perfect_order_is_narrow_and_of_noise_wide():
    ordered = np.arange(60.0)
    noise = np.random.default_rng(1).permutation(60).astype(float)
    perfect, loose = (stsb.correlation_interval(ordered, other) for other in (ordered, noise))
    assert perfect.value == pytest.approx(1)
    assert perfect.low == pytest.approx(1)
    assert loose.low < 0 < loose.high


@pytest.mark.parametrize(
    ("asked_for", "mode", "measured"),
    [
        (Target(), None, ("hybrid", "semantic", "keyword")),
        (Target(modes=("keyword",)), None, ("keyword",)),
        (Target(), "semantic", ("semantic",)),
        (Target(modes=("hybrid",)), "semantic", ("hybrid",)),
        (Target("mem0"), "semantic", ("default",)),
    ],
)
def test_which_modes_are_measured(asked_for: Target, mode: str | None, measured: tuple[str, ...]):
    assert chosen(Task(NOTES, mode=mode), asked_for) == measured


def test_a_mode_that_the_service_lacks_is_refused():
    with pytest.raises(click.UsageError, match="reference has semantic, not hybrid"):
        chosen(Task(NOTES), Target("reference", modes=("hybrid",)))


def test_options_become_a_target():
    @click.command()
    @target_options
    def show(target: Target) -> None:
        """What was chosen."""
        click.echo(repr(target))

    chosen_by_user = CliRunner().invoke(show, ["--service", "mem0", "--url", "http://x", "--mode", "default"])
    assert chosen_by_user.output.strip() == repr(Target("mem0", "http://x", ("default",)))
    assert CliRunner().invoke(show, []).output.strip() == repr(Target())
    assert "What was chosen." in CliRunner().invoke(show, ["--help"]).output


def test_names_of_services_are_distinct():
    assert [dialect.traits.name for dialect in DIALECTS.values()] == list(DIALECTS)
    assert len(DIALECTS) == 6
