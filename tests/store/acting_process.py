"""A process that changes spaces at random until its standard input is closed: what another memex does meanwhile."""

import asyncio
import sys

from memex.metrics import Metrics
from memex.settings import Database
from memex.store.pool import Pool
from memex.store.writes import Writes
from tests.store.test_freshness import Actor


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(conninfo: str) -> None:
    metrics = Metrics()
    pool = Pool(conninfo, Database(min_pool_size=1, max_pool_size=2), metrics)
    await pool.open()
    writes = Writes(pool, metrics, 20.0)
    writes.start()
    actor, over, done = Actor(pool, writes, 2), asyncio.Event(), 0
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), over.set)
    say("begun")
    while not over.is_set():
        await actor.act()
        done += 1
    await writes.close()
    await pool.close()
    say(str(done))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
