"""One service against another under the same load: ABAB, a fresh service for each block.

python -m bench.load.versus --load closed-loop --texts unique
python -m bench.load.versus --load closed-loop --texts unique --write-share 1
python -m bench.load.versus --load locust --texts repeated --seconds 60
"""

from collections.abc import Callable
from functools import partial

import click
import msgspec

from bench.load import closed_loop, locust
from bench.load.block import Block
from bench.load.subjects import SUBJECTS, started, texts_option
from bench.machine import release_build
from bench.noise import Noise
from bench.pairs import LEAST_PAIRS, Figures, compare, medians
from bench.results import Result, record
from bench.services.running import Running

COUNTS = ("requests", "answers_checked")
"""Figures whose ratio says nothing."""
Measure = Callable[[Running], Block]


@click.command()
@click.option("--load", type=click.Choice(["closed-loop", "locust"]), required=True)
@texts_option
@click.option("--first", type=click.Choice(SUBJECTS), default="memex", show_default=True)
@click.option("--second", type=click.Choice(SUBJECTS), default="reference", show_default=True)
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=LEAST_PAIRS, show_default=True)
@click.option("--seconds", default=30, show_default=True, help="Of each block.")
@click.option("--write-share", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Of a closed loop.")
@click.option("--warm-up", default=15.0, show_default=True, help="Seconds before each block.")
def main(load: str, first: str, second: str, pairs: int, **chosen: object) -> None:
    """The ratios first / second of all figures, their medians and 95 % intervals."""
    release_build()
    noise: list[Noise] = []
    measure, settings = measurement(load, chosen)
    blocks = [partial(block, name, measure, noise) for name in (first, second)]
    comparison = compare(blocks[0], blocks[1], pairs)
    figures = {"medians": [medians(comparison.first), medians(comparison.second)]} | msgspec.to_builtins(comparison)
    share = f"-writes-{chosen['write_share']:g}" if chosen["write_share"] else ""
    variant = f"{load}-{chosen['texts']}{share}-{first}-{second}"
    settings |= {"load": load, "first": first, "second": second, "pairs": pairs}
    warm_up = f"{chosen['warm_up']:g} s before each block, on a fresh service"
    record(Result("versus", variant, figures, settings, warm_up, noise))


def measurement(load: str, chosen: dict[str, object]) -> tuple[Measure, dict[str, object]]:
    """What is measured of a running service, and all settings of it."""
    if load == "locust":
        tested = msgspec.convert(chosen, locust.Plan)
        return partial(locust.measured, plan=tested), msgspec.to_builtins(tested)
    asked = msgspec.convert(chosen, closed_loop.Plan)
    return partial(closed_loop.measured, plan=asked), msgspec.to_builtins(asked)


def block(name: str, measure: Measure, noise: list[Noise]) -> Figures:
    """One block on a service of its own."""
    with started(name) as running:
        measured = measure(running)
    noise.append(measured.noise)
    click.echo(f"{name}: {measured.figures['requests_per_second']:g} requests/s", err=True)
    return {name: value for name, value in measured.figures.items() if name not in COUNTS}


if __name__ == "__main__":
    main()
