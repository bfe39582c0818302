"""What the commands of all data sets share: which service, in which modes, and what is written down."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from bench.noise import Noise, watched
from bench.quality.catalogue import DIALECTS, serving
from bench.quality.dataset import Dataset
from bench.quality.retrieval import Answer, Stored, ask, store
from bench.quality.scoring import Figures, retrieval_figures
from bench.quality.service import CONNECTIONS, Service, connect
from bench.results import Result, record

KEY = "BENCH_API_KEY"


class Target(msgspec.Struct, frozen=True):
    """Which service is measured. Without a `url` it is started; without `modes` all that it has are measured."""

    service: str = "memex"
    url: str | None = None
    modes: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """What is measured on it."""

    dataset: Dataset
    k: int = 10
    summarise: Callable[[Dataset, Sequence[Answer]], Figures] = retrieval_figures
    settings: Mapping[str, str] = {}
    """Environment of a memex that is started for it."""
    mode: str | None = None
    """The one mode that makes sense, for services that have it."""


def data_option(what: str, *, folder: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option `--data` of a command whose set is a folder or one file; `what` is shown as its help."""
    kind = click.Path(exists=True, file_okay=not folder, dir_okay=folder, path_type=Path)
    return click.option("--data", type=kind, required=True, help=what)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that make up a Target, which the command gets as `target`."""

    def measuring(service: str, url: str | None, mode: tuple[str, ...], **options: object) -> None:
        command(target=Target(service, url, mode), **options)

    measuring.__doc__ = command.__doc__
    for option in (
        click.option("--mode", multiple=True, help="hybrid, semantic or keyword; again for more; all by default."),
        click.option("--url", help=f"A running service; its API key, if it wants one, in {KEY}. Default: a fresh one."),
        click.option("--service", type=click.Choice(list(DIALECTS)), default="memex", show_default=True),
    ):
        measuring = option(measuring)
    return measuring


def measure(task: Task, target: Target) -> None:
    """Stores the data set once, asks it in every mode, and records one result for each."""
    modes = chosen(task, target)
    dialect = DIALECTS[target.service]

    async def connected(url: str) -> None:
        async with connect(url, dialect.traits, os.environ.get(KEY, "")) as connections:
            await run(task, Service(connections, dialect), modes, record)

    with serving(target.service, target.url, task.settings) as url:
        asyncio.run(connected(url))


def chosen(task: Task, target: Target) -> tuple[str, ...]:
    """The modes to measure. UsageError for one that the service does not have."""
    had = DIALECTS[target.service].traits.modes
    if unknown := set(target.modes) - set(had):
        raise click.UsageError(f"{target.service} has {', '.join(had)}, not {', '.join(sorted(unknown))}")
    if task.mode in had and not target.modes:
        return (task.mode,)
    return target.modes or had


async def run(task: Task, service: Service, modes: Sequence[str], keep: Callable[[Result], object]) -> None:
    """Gives `keep` one result for each mode, as soon as it is there."""
    with watched() as storing:
        stored = await store(service, task.dataset)
    for mode in modes:
        with watched() as asking:
            answers = await ask(service, task.dataset, stored, task.k, mode)
        figures = task.summarise(task.dataset, answers) | costs(task.dataset, stored, answers, asking)
        figures["refused"] = service.refused
        keep(result(task, service, mode, figures, [storing, asking]))


def costs(dataset: Dataset, stored: Stored, answers: Sequence[Answer], asking: Noise) -> Figures:
    """What was stored, how fast, and what has to be known about the answers."""
    return {
        "stored": len(dataset.memories),
        "stored_seconds": round(stored.seconds, 2),
        "stored_per_second": round(len(dataset.memories) / stored.seconds, 1),
        "shortened": stored.shortened,
        "asked_seconds": asking.seconds,
        "short_answers": sum(answer.short for answer in answers),
        "left_out": dataset.left_out,
    }


def result(task: Task, service: Service, mode: str, figures: Figures, noise: list[Noise]) -> Result:
    """What is written down."""
    call = service.shape(task.k, mode)
    settings = {
        "data set": task.dataset.name,
        "service": service.traits.name,
        "mode": mode,
        "k": task.k,
        "connections": CONNECTIONS,
        "search": {"path": call.path, "body": call.body},
        "environment": dict(task.settings),
    }
    return Result(
        question="quality",
        variant=f"{task.dataset.name}-{service.traits.name}-{mode}",
        figures=figures,
        settings=settings,
        warm_up="none: no figure of quality depends on it, and the rate of storing includes the first texts",
        noise=noise,
    )
