"""The memories that a load finds: 1,000 writes over 32 connections.

python -m bench.load.seeding http://127.0.0.1:8000
"""

import asyncio

import click

from bench.load.answers import Truth
from bench.load.client import Connection, call
from bench.load.workload import seed_writes

CONNECTIONS = 32


@click.command()
@click.argument("url")
def main(url: str) -> None:
    """Seeds the running service at URL, whose rate limits have to be off."""
    try:
        asyncio.run(seed(url.rstrip("/")))
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{url}: {error}", param_hint="URL") from error


async def seed(url: str) -> Truth:
    """Stores the memories of `seed_writes`; what is there then."""
    bodies = list(seed_writes())
    await asyncio.gather(*(store(url, bodies[at::CONNECTIONS]) for at in range(CONNECTIONS)))
    return Truth(bodies)


async def store(url: str, bodies: list[dict[str, object]]) -> None:
    """One connection's writes, one after the other."""
    async with await Connection.open(url) as connection:
        for body in bodies:
            await call(connection, "/v1/memories", body)


if __name__ == "__main__":
    main()
