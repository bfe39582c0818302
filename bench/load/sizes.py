"""Searches of large spaces against searches of small ones: ABAB, each block on a fresh service.

Repeated texts show what a request costs beside its ranking, since answers to what is asked again are kept until the
space changes; unique ones are ranked each time.

python -m bench.load.sizes --first 10000 --second 10
"""

import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle

import click
import msgspec
import uvloop

from bench.load.answers import Body, Truth, hits_of
from bench.load.block import Block, costs, halves, rates
from bench.load.closed_loop import Plan, Tally, User, connected, load
from bench.load.subjects import started
from bench.load.tenants import Rows, Tenant, seed
from bench.load.versus import COUNTS
from bench.load.workload import Texts, searches
from bench.machine import release_build
from bench.noise import Noise, watched
from bench.pairs import LEAST_PAIRS, Figures, compare, medians
from bench.results import Result, record
from bench.services.running import Running

KINDS = [kind.value for kind in Texts]
SIZES = click.Choice([rows.value for rows in Rows])


@click.command()
@click.option("--first", type=SIZES, default=Rows.TEN_THOUSAND.value, show_default=True)
@click.option("--second", type=SIZES, default=Rows.TEN.value, show_default=True)
@click.option("--texts", type=click.Choice(KINDS), default=Texts.REPEATED.value, show_default=True)
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=LEAST_PAIRS, show_default=True)
@click.option("--seconds", default=10.0, show_default=True, help="Of each block.")
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds before each block.")
def main(first: str, second: str, texts: str, pairs: int, seconds: float, warm_up: float) -> None:
    """The ratios first / second of requests a second, latency and CPU time; memories of a space as they are named."""
    release_build()
    plan, noise = Plan(Texts(texts), seconds, warm_up), list[Noise]()
    blocks = [partial(block, Rows(size), plan, noise) for size in (first, second)]
    comparison = compare(blocks[0], blocks[1], pairs)
    figures = {"medians": [medians(comparison.first), medians(comparison.second)]} | msgspec.to_builtins(comparison)
    settings = msgspec.to_builtins(plan) | {"first": first, "second": second, "pairs": pairs}
    record(Result("sizes", f"{first}-{second}-{texts}", figures, settings, f"{warm_up:g} s of the same load", noise))


def block(rows: Rows, plan: Plan, noise: list[Noise]) -> Figures:
    """One block on a service of its own."""
    with started("memex") as running:
        measured = uvloop.run(measure(running, rows, plan))
    noise.append(measured.noise)
    click.echo(f"{rows} memories: {measured.figures['requests_per_second']:g} requests/s", err=True)
    return {name: value for name, value in measured.figures.items() if name not in COUNTS}


async def measure(running: Running, rows: Rows, plan: Plan) -> Block:
    """Every connection asks all tenants in turn, each starting at another one."""
    tenants, tally = await seed(running, rows), Tally(Truth([]))
    async with connected(running.url, plan) as users:
        asking = [User(user.connection, questions(plan.texts, tenants, number)) for number, user in enumerate(users)]
        await load(asking, plan.warm_up, tally)
        tally.restart()
        before, own = running.cpu(), time.process_time()
        with watched() as noise:
            begin = time.perf_counter()
            await load(asking, plan.seconds, tally)
        used, own = running.cpu().since(before), time.process_time() - own
    tally.bounded()
    noise.halves_percent = halves(tally.done, begin)
    figures = rates(tally.done, begin)
    figures["answers_checked"] = sum(bool(hits_of(body, answer)) for body, answer in tally.kept)
    return Block(figures | costs(used, own, int(figures["requests"])), noise)


def questions(texts: Texts, tenants: list[Tenant], number: int) -> Iterator[tuple[str, Body]]:
    """Endless searches of one connection, of one tenant after the other."""
    start = number % len(tenants)
    for body, tenant in zip(searches(texts, number), cycle(tenants[start:] + tenants[:start])):
        yield "search", body | {"agent_id": tenant.agent_id, "user_id": tenant.user_id}


if __name__ == "__main__":
    main()
