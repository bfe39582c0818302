"""Connections that each ask again as soon as they are answered: the highest rate, and what one request costs.

python -m bench.load.closed_loop --texts unique
python -m bench.load.closed_loop --texts zipf --service reference
python -m bench.load.closed_loop --texts repeated --write-share 1

A service that stalls is asked less, so latencies under a given rate are the open loop's to tell, not this one's.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import click
import msgspec
import uvloop

from bench.load.answers import Body, Kept, Truth, WrongAnswer, verify
from bench.load.block import Block, Done, Lookups, Seen, costs, halves, rates
from bench.load.client import Connection
from bench.load.seeding import seed
from bench.load.subjects import service_option, started, texts_option, workers_option
from bench.load.workload import Texts, searches, writes
from bench.machine import release_build
from bench.noise import watched
from bench.results import Result, record
from bench.services.running import Running

KEEP_EVERY = 32
PATHS = {"search": "/v1/memories/search", "write": "/v1/memories"}
EXPECTED = {"search": 200, "write": 201}
REFUSED = (429, 503)
PAUSE_SECONDS = 0.1
"""Of a connection that was refused."""
MOST_REFUSED = 0.01
"""The share of refused requests from which a run has no figures: those that are left would look too good."""


class Plan(msgspec.Struct, frozen=True):
    """One load."""

    texts: Texts
    """Of the searches; every write has a text of its own."""
    seconds: float = 20.0
    warm_up: float = 5.0
    """Seconds of the same load before anything counts."""
    write_share: float = 0.0
    """0 to 1."""
    connections: int = 32
    first: int = 0
    """Number of the first virtual user: equal numbers ask the same."""


@click.command()
@texts_option
@service_option
@click.option("--write-share", type=click.FloatRange(0, 1), default=0.0, show_default=True)
@click.option("--connections", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=20.0, show_default=True)
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds before anything counts.")
@workers_option
def main(service: str, workers: int | None, **chosen: object) -> None:
    """Requests a second, latency, and CPU time a request of the service with its PostgreSQL."""
    release_build()
    plan = msgspec.convert(chosen, Plan)
    with started(service, workers) as running:
        block, service = measured(running, plan), running.name
    variant = f"{service}-{plan.texts}" + (f"-writes-{plan.write_share:g}" if plan.write_share else "")
    settings = msgspec.to_builtins(plan) | {"service": service, "workers": workers}
    warm_up = f"{plan.warm_up:g} s of the same load"
    record(Result("closed-loop", variant, dict(block.figures), settings, warm_up, [block.noise]))


def measured(running: Running, plan: Plan) -> Block:
    """Seeds the fresh service, warms up, measures, and checks the answers."""
    return uvloop.run(measure(running, plan))


async def measure(running: Running, plan: Plan) -> Block:
    """The block of `measured`."""
    tally = Tally(await seed(running.url))
    async with connected(running.url, plan) as users:
        await load(users, plan.warm_up, tally)
        tally.restart()
        before, cache, own = running.cpu(), Lookups.of(running.url), time.process_time()
        with watched() as noise:
            begin = time.perf_counter()
            await load(users, plan.seconds, tally)
        used, own = running.cpu().since(before), time.process_time() - own
        rate = Lookups.of(running.url).rate_since(cache)
    tally.bounded()
    noise.halves_percent = halves(tally.done, begin)
    figures = rates(tally.done, begin) | rate
    figures |= costs(used, own, int(figures["requests"]))
    figures["repeated_share"] = tally.seen.repeated_share
    figures["answers_checked"] = await verify(running.url, tally.truth, tally.kept)
    return Block(figures, noise)


async def warmed(url: str, plan: Plan) -> Truth:
    """Seeds and does nothing but the warm-up; what is stored then."""
    tally = Tally(await seed(url))
    async with connected(url, plan) as users:
        await load(users, plan.warm_up, tally)
    return tally.truth


class Tally:
    """What a load has done."""

    def __init__(self, truth: Truth) -> None:
        """`truth` is what is stored before."""
        self.truth = truth
        self.kept: list[Kept] = []
        self.seen = Seen()
        self.done: list[Done] = []

    def restart(self) -> None:
        """The warm-up is over; what it wrote is still there, and its answers count as answers."""
        self.done = []
        self.seen.restart()

    def note(self, done: Done, body: Body, answer: bytes) -> None:
        """One more request."""
        self.done.append(done)
        self.seen.add(done.kind, body["query" if done.kind == "search" else "content"])
        if done.kind == "write":
            self.truth.wrote(body, acknowledged=not done.failed)
        elif not done.failed and len(self.done) % KEEP_EVERY == 1:
            self.kept.append((body, answer))

    def bounded(self) -> None:
        """Ends the run if too many were refused."""
        refused = sum(done.failed for done in self.done)
        if refused > MOST_REFUSED * len(self.done):
            raise WrongAnswer(f"{refused} of {len(self.done)} requests were refused")


class User(msgspec.Struct, frozen=True):
    """One connection, and what it will ask."""

    connection: Connection
    requests: Iterator[tuple[str, Body]]


@asynccontextmanager
async def connected(url: str, plan: Plan) -> AsyncIterator[list[User]]:
    """The virtual users of a plan."""
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(await Connection.open(url)) for _ in range(plan.connections)]
        numbers = range(plan.first, plan.first + plan.connections)
        yield [User(*both) for both in zip(connections, (requests(plan, n) for n in numbers), strict=True)]


def requests(plan: Plan, number: int) -> Iterator[tuple[str, Body]]:
    """Kind and body, searches and writes mixed at random."""
    asked, written = searches(plan.texts, number), writes(Texts.UNIQUE, number)
    chooser = random.Random(f"kinds {number}")
    while True:
        if chooser.random() < plan.write_share:
            yield "write", next(written)
        else:
            yield "search", next(asked)


async def load(users: list[User], seconds: float, tally: Tally) -> None:
    """Every request that begins within `seconds`. A status that is neither success nor a refusal ends the run."""
    end = time.perf_counter() + seconds

    async def ask(user: User) -> None:
        for kind, body in user.requests:
            payload, begin = msgspec.json.encode(body), time.perf_counter()
            if begin >= end:
                return
            status, answer = await user.connection.post(PATHS[kind], payload)
            finished, failed = time.perf_counter(), status in REFUSED
            if status != EXPECTED[kind] and not failed:
                raise WrongAnswer(f"a {kind} gave {status}: {answer[:200]!r}")
            tally.note(Done(kind, finished, finished - begin, failed=failed), body, answer)
            if failed:
                await asyncio.sleep(PAUSE_SECONDS)

    await asyncio.gather(*(ask(user) for user in users))


if __name__ == "__main__":
    main()
