"""Search over HTTP by 32 connections that each ask again as soon as they are answered.

python -m bench.load.closed_loop --texts repeated
python -m bench.load.closed_loop --texts unique
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import Iterator

import click
import msgspec
import uvloop

from bench.load.client import Connection, call
from bench.load.workload import searches, seed_writes
from bench.machine import describe
from bench.services.memex import memex
from bench.services.running import Running

READY_BODIES = 4_096


@click.command()
@click.option("--texts", type=click.Choice(["repeated", "unique"]), required=True)
@click.option("--connections", default=32, show_default=True)
@click.option("--seconds", default=20.0, show_default=True)
@click.option("--warm-up", default=5.0, show_default=True, help="Seconds before anything counts.")
@click.option("--workers", default=1, show_default=True)
def main(texts: str, connections: int, seconds: float, warm_up: float, workers: int) -> None:
    """Requests a second, latency, and CPU time a request of the service with its PostgreSQL."""
    with memex(settings={"WORKERS": str(workers)}) as running:
        result = uvloop.run(measure(running, texts, connections, seconds, warm_up))
    settings = {"texts": texts, "connections": connections, "seconds": seconds, "workers": workers}
    print(msgspec.json.format(msgspec.json.encode(settings | result | describe()), indent=2).decode())


async def measure(running: Running, texts: str, connections: int, seconds: float, warm_up: float) -> dict[str, object]:
    """Seeds, warms up, then measures for `seconds`."""
    await seed(running.url)
    users = [await User.open(running.url, texts, number) for number in range(connections)]
    await load(users, warm_up)
    before, own = running.cpu(), time.process_time()
    latencies = await load(users, seconds)
    used, own = running.cpu().since(before), time.process_time() - own
    check_answers(users)
    for user in users:
        await user.connection.close()
    return summary(latencies, seconds) | {
        "cpu_ms_per_request": used.per(len(latencies)),
        "generator_cpu_ms_per_request": round(1000 * own / len(latencies), 3),
    }


class User(msgspec.Struct):
    """One connection and the bodies that it will send, encoded before the clock runs."""

    connection: Connection
    bodies: Iterator[bytes]
    last: bytes = b""

    @classmethod
    async def open(cls, url: str, texts: str, number: int) -> "User":
        """The virtual user of that number."""
        endless = (msgspec.json.encode(body) for body in searches(texts, number))
        bodies = itertools.cycle(itertools.islice(endless, READY_BODIES)) if texts == "repeated" else endless
        return cls(await Connection.open(url), bodies)


async def load(users: list[User], seconds: float) -> list[float]:
    """The latency of every request within `seconds`, in seconds."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def ask(user: User) -> None:
        while (begin := time.perf_counter()) < end:
            status, user.last = await user.connection.post("/v1/memories/search", next(user.bodies))
            if status != 200:
                raise SystemExit(f"a search gave {status}: {user.last[:200]!r}")
            latencies.append(time.perf_counter() - begin)

    await asyncio.gather(*(ask(user) for user in users))
    return latencies


async def seed(url: str) -> None:
    """Stores the memories that the searches find."""
    connection = await Connection.open(url)
    for body in seed_writes():
        await call(connection, "/v1/memories", body)
    await connection.close()


def check_answers(users: list[User]) -> None:
    """A run with wrong answers does not count: every user's last answer is looked at."""
    for user in users:
        answer = msgspec.json.decode(user.last)
        if len(answer["results"]) != 5:
            raise SystemExit(f"a search gave {len(answer['results'])} of 5 hits")
        scores = [hit["score"] for hit in answer["results"]]
        if scores != sorted(scores, reverse=True):
            raise SystemExit("hits are not in the order of their scores")


def summary(latencies: list[float], seconds: float) -> dict[str, object]:
    """Rate and percentiles in milliseconds."""
    percentiles = statistics.quantiles(latencies, n=100)
    return {
        "requests": len(latencies),
        "requests_per_second": round(len(latencies) / seconds, 1),
        "p50_ms": round(1000 * percentiles[49], 2),
        "p95_ms": round(1000 * percentiles[94], 2),
        "p99_ms": round(1000 * percentiles[98], 2),
    }


if __name__ == "__main__":
    main()
