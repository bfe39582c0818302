"""The reference's load test, by Locust, without its web page.

python -m bench.load.locust --texts repeated --classes reference
python -m bench.load.locust --texts unique --classes saturation -u 500 -r 50 -t 60

Figures count from the first request, the time while virtual users are still being added included, as in the
reference's own. Latencies are of a closed loop (see bench/load/locustfile.py): beside them stands how many requests
the saturating users would have made if they had always been answered in time.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from bench.load import closed_loop
from bench.load.answers import Truth, WrongAnswer, verify
from bench.load.block import Block, Done, Lookups, costs, halves, rates
from bench.load.closed_loop import warmed
from bench.load.journal import Journal
from bench.load.subjects import service_option, started, texts_option, workers_option
from bench.load.workload import Texts
from bench.machine import release_build
from bench.noise import watched
from bench.results import Result, record
from bench.services.running import Running

LOCUSTFILE = Path(__file__).with_name("locustfile.py")
CLASSES = {"reference": ("Realistic", "Saturation"), "realistic": ("Realistic",), "saturation": ("Saturation",)}
SATURATION_PER_SECOND = 20
STOP_SECONDS = 30
WARM_UP_FIRST = 900
"""Number of the warm-up's first virtual user: Locust counts from 0 and does not come as far."""
GRACE_SECONDS = 60.0


class Plan(msgspec.Struct, frozen=True):
    """One run."""

    texts: Texts
    classes: str = "reference"
    """Of CLASSES; reference is both, of equal weight."""
    users: int = 50
    spawn_rate: float = 10.0
    """Virtual users added each second."""
    seconds: int = 60
    warm_up: float = 5.0

    @property
    def asked(self) -> dict[str, float]:
        """Requests a second that the saturating users aim at, over the whole run."""
        if "Saturation" not in CLASSES[self.classes]:
            return {}
        adding = max(0.0, self.users / self.spawn_rate - 1)  # the first users are there at once
        share = 1 - min(1.0, adding / self.seconds) / 2
        saturating = self.users / len(CLASSES[self.classes])
        return {"saturation_asked_per_second": round(SATURATION_PER_SECOND * saturating * share, 1)}


@click.command()
@texts_option
@click.option("--classes", type=click.Choice(list(CLASSES)), default="reference", show_default=True)
@service_option
@click.option("-u", "--users", type=click.IntRange(1, WARM_UP_FIRST), default=50, show_default=True)
@click.option("-r", "--spawn-rate", default=10.0, show_default=True)
@click.option("-t", "--seconds", default=60, show_default=True)
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds of searches before Locust starts.")
@workers_option
def main(service: str, workers: int | None, **chosen: object) -> None:
    """Requests a second, latency and CPU time a request under the reference's virtual users."""
    release_build()
    plan = msgspec.convert(chosen, Plan)
    with started(service, workers) as running:
        block, service = measured(running, plan), running.name
    variant = f"{service}-{plan.texts}-{plan.classes}-{plan.users}"
    settings = msgspec.to_builtins(plan) | {"service": service, "workers": workers}
    warm_up = f"{plan.warm_up:g} s of searches in a closed loop; Locust's adding of users counts"
    record(Result("locust", variant, dict(block.figures), settings, warm_up, [block.noise]))


def measured(running: Running, plan: Plan) -> Block:
    """Seeds the fresh service, warms up, runs Locust, and checks the answers."""
    truth = asyncio.run(warmed(running.url, closed_loop.Plan(plan.texts, warm_up=plan.warm_up, first=WARM_UP_FIRST)))
    before, cache = running.cpu(), Lookups.of(running.url)
    with watched() as noise:
        journal = run(running.url, plan)
    used = running.cpu().since(before)
    begin = min(one.finished - one.seconds for one in journal.done)
    noise.halves_percent = halves(journal.done, begin + plan.users / plan.spawn_rate)
    figures = rates(journal.done, begin) | by_class(journal.done, begin) | plan.asked
    figures |= costs(used, journal.cpu_seconds, int(figures["requests"]))
    figures |= Lookups.of(running.url).rate_since(cache) | {"repeated_share": journal.repeated_share}
    figures["answers_checked"] = asyncio.run(checked(running.url, truth, journal))
    return Block(figures, noise)


def run(url: str, plan: Plan) -> Journal:
    """Locust in a process of its own, which ends by itself; its table goes to standard error."""
    with tempfile.TemporaryDirectory(prefix="memex-locust-") as folder:
        journal = Path(folder) / "journal.json"
        ended = subprocess.run(
            command(url, plan, journal),
            stdout=sys.stderr,
            timeout=plan.seconds + STOP_SECONDS + GRACE_SECONDS,
            check=False,
        )
        if ended.returncode or not journal.exists():
            raise WrongAnswer(f"Locust ended with {ended.returncode}")
        return msgspec.json.decode(journal.read_bytes(), type=Journal)


def command(url: str, plan: Plan, journal: Path) -> list[str]:
    """Requests in flight at the end are waited for, so that what was acknowledged is known."""
    load_ = ["-u", str(plan.users), "-r", str(plan.spawn_rate), "-t", f"{plan.seconds}s"]
    ending = ["--stop-timeout", str(STOP_SECONDS), "--exit-code-on-error", "0"]
    output = ["--headless", "--only-summary", "--loglevel", "WARNING", "--journal", str(journal)]
    texts = ["--texts", plan.texts, *CLASSES[plan.classes]]
    return [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--host", url, *load_, *ending, *output, *texts]


def by_class(done: list[Done], begin: float) -> dict[str, float]:
    """Requests a second of each class of virtual users."""
    askers = sorted({one.asker for one in done})
    return {
        f"{asker.lower()}_requests_per_second": rates([one for one in done if one.asker == asker], begin)[
            "requests_per_second"
        ]
        for asker in askers
    }


async def checked(url: str, truth: Truth, journal: Journal) -> int:
    """Holds the sample against what was acknowledged; how many answers were looked at."""
    if journal.wrong:
        raise WrongAnswer(f"{len(journal.wrong)} answers were wrong, the first: {journal.wrong[0]}")
    for body, acknowledged in journal.writes:
        truth.wrote(body, acknowledged=acknowledged)
    return await verify(url, truth, [(asked, answer.encode()) for asked, answer in journal.searches])


if __name__ == "__main__":
    main()
