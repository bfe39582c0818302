"""Stores a data set in a service and asks its questions. Answers that cannot be right end the run."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import click
import msgspec

from bench.quality.dataset import Dataset, Memory, Question
from bench.quality.service import CONNECTIONS, Service
from bench.quality.services.dialect import Hit, Traits, WrongAnswer

PROGRESS = 500
INDEXING_SECONDS = 120.0
ROUNDING = 1e-9
"""Of the comparison itself, in binary."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Stored(msgspec.Struct, frozen=True):
    """What went in: for each user and id the names that share it, since a service may keep one text once."""

    names: dict[str, dict[str, list[str]]]
    shortened: int
    """Texts that were cut to what the service takes."""
    seconds: float


class Answer(msgspec.Struct, frozen=True):
    """What one question got."""

    ranked: list[str]
    """Names, best first, at most k."""
    best: float | None
    """The first hit's score, None without hits or scores."""
    short: bool
    """Whether there were fewer hits than the user has memories, and fewer than k."""


async def store(service: Service, dataset: Dataset) -> Stored:
    """Every memory, in the order of the data set as far as several connections keep it; all can be found after."""
    if not service.traits.separates_users and len(dataset.users) > 1:
        raise WrongAnswer(f"{service.traits.name} has one space for all, {dataset.name} needs {len(dataset.users)}")
    memories = [shortened(memory, service.traits.longest) for memory in dataset.memories]
    begin = time.perf_counter()
    ids = await spread(memories, service.store, f"{dataset.name}: texts stored")
    if service.traits.indexes_later:
        last = {memory.user: (memory, id_) for memory, id_ in zip(memories, ids, strict=True)}
        await spread(list(last.values()), lambda pair: findable(service, *pair), f"{dataset.name}: users indexed")
    seconds = time.perf_counter() - begin
    names: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for memory, id_ in zip(memories, ids, strict=True):
        names[memory.user][id_].append(memory.name)
    cut = sum(a.text != b.text for a, b in zip(memories, dataset.memories, strict=True))
    return Stored(names, cut, seconds)


def shortened(memory: Memory, longest: int | None) -> Memory:
    """The memory with at most `longest` characters of text."""
    return msgspec.structs.replace(memory, text=memory.text[:longest])


async def findable(service: Service, memory: Memory, id_: str) -> None:
    """Waits until a search with the text itself finds it."""
    end = time.perf_counter() + INDEXING_SECONDS
    while time.perf_counter() < end:
        hits = await service.search(memory.user, memory.text, 10, service.traits.modes[0])
        if any(hit.id == id_ for hit in hits):
            return
        await asyncio.sleep(0.5)
    raise WrongAnswer(f"{service.traits.name} did not find a memory {INDEXING_SECONDS:.0f} s after it was stored")


async def ask(service: Service, dataset: Dataset, stored: Stored, k: int, mode: str) -> list[Answer]:
    """The answers in the order of the questions."""

    async def one(question: Question) -> Answer:
        hits = await service.search(question.user, question.text, k, mode)
        return answer(hits, stored.names.get(question.user, {}), k, service.traits)

    return await spread(dataset.questions, one, f"{dataset.name}, {mode}: questions asked")


def answer(hits: Sequence[Hit], names: dict[str, list[str]], k: int, traits: Traits) -> Answer:
    """Ids made names. An id that was not stored for this user, hits out of order, or too few of them end the run."""
    ids = list(dict.fromkeys(hit.id for hit in hits))
    if unknown := [id_ for id_ in ids if id_ not in names]:
        raise WrongAnswer(f"{traits.name} gave {unknown[0]}, which was not stored for that user in this run")
    scores = [hit.score for hit in hits if hit.score is not None]
    if any(later > earlier + traits.tie + ROUNDING for earlier, later in pairwise(scores)):
        raise WrongAnswer(f"{traits.name} gave hits that are not in the order of their scores: {scores}")
    short = len(ids) < min(k, len(names))
    if short and traits.complete:
        raise WrongAnswer(f"{traits.name} gave {len(ids)} different hits of {min(k, len(names))}")
    ranked = [name for id_ in ids for name in names[id_]]
    return Answer(ranked[:k], scores[0] if scores else None, short)


async def spread(items: Sequence[Item], work: Callable[[Item], Awaitable[Outcome]], what: str) -> list[Outcome]:
    """`work` on every item over a few connections, results in the order of the items, progress on the terminal."""
    results: dict[int, Outcome] = {}
    queue = iter(enumerate(items))

    async def worker() -> None:
        for index, item in queue:
            results[index] = await work(item)
            if len(results) % PROGRESS == 0 or len(results) == len(items):
                click.echo(f"{what}: {len(results)} of {len(items)}", err=True)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(worker())
    except* WrongAnswer as wrong:
        raise wrong.exceptions[0] from None
    return [results[index] for index in range(len(items))]
