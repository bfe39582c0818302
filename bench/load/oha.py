"""A fixed arrival rate by oha 1.16, read so that nothing late is hidden.

What oha does by itself is not enough, and how it is used here makes up for it (its client.rs, and a server that
stalls for a second in tests/bench/open_loop):

- With a duration (`-z`, with `-w` too) the requests that still wait for a free connection at the end are dropped and
  appear nowhere. With a number (`-n`) all of them are sent, so a number it is: the rate times the duration.
- `--latency-correction` counts from the instant in which its dispatcher woke, late on a busy machine and by its timer's
  millisecond. Here the n-th request counts from n / rate after the first, whenever the dispatcher woke: the rows of
  `--db-url` are in the dispatcher's order. What that adds is reported as `late`.
- Its percentiles mix statuses; the rows have one each. Refusals are told apart from answers here.
- `-Z` draws bodies at random, with replacement. For texts that must not repeat the file holds `SPREAD` bodies for each
  request, so that a share of 1 / (2 · SPREAD) of the requests repeats an earlier one.

Requests that find no free connection wait inside oha and the clock runs. Broken requests have no row; their number is
in its summary. Its CPU time includes reading bodies and writing rows, before and after the load.
"""

import asyncio
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

import msgspec

OHA = Path(sys.executable).with_name("oha")
SPREAD = 32
REQUEST_SECONDS = 60
DRAIN_SECONDS = 180.0
"""How long what is late may take after the last intended start; a service slower than that is not measured."""
LEAST_CONNECTIONS, MOST_CONNECTIONS = 16, 4_096
ROWS = "SELECT start_latency_correction, end, status FROM oha ORDER BY start_latency_correction"


class Answer(msgspec.Struct, frozen=True):
    """One answered request, in seconds from the intended start of the first one."""

    intended: float
    end: float
    status: int

    @property
    def latency(self) -> float:
        """From the intended start to the last byte."""
        return self.end - self.intended


class Sent(msgspec.Struct):
    """What became of one stream of requests."""

    requests: int
    answers: list[Answer]
    late: list[float]
    """By how much the generator itself was late to hand each one out, in seconds."""
    broken: dict[str, int]
    """Requests without an answer by what happened to them."""
    cpu: float = 0.0
    """Seconds that oha used."""


class Stream(msgspec.Struct, frozen=True):
    """Requests of one route at one rate."""

    url: str
    """Of the route."""
    rate: float
    """Per second."""
    seconds: float
    connections: int

    @property
    def requests(self) -> int:
        """How many there will be, at least one."""
        return max(1, round(self.rate * self.seconds))


def connections(rate: float, held: float) -> int:
    """Enough of them that none is missing while each request takes `held` seconds (Little's law), within bounds.

    oha takes its connections in turn: many more than needed would make each request open one of its own.
    """
    return min(max(math.ceil(rate * held), LEAST_CONNECTIONS), MOST_CONNECTIONS)


def installed() -> None:
    """Ends the run where oha is not: asked before a service is started for nothing."""
    if not OHA.exists():
        raise SystemExit("oha is missing: run `make bench-tools`, which builds it")


async def send(stream: Stream, bodies: Iterable[bytes], spread: int = 1) -> Sent:
    """Sends the stream to its end, which comes when the last request is answered.

    `bodies` are JSON texts of one line; `spread` of them are taken for each request. Ends the run if oha cannot work
    or the service does not catch up.
    """
    installed()
    with tempfile.TemporaryDirectory(prefix="memex-oha-") as name:
        folder = Path(name)
        with (folder / "bodies").open("wb") as file:
            file.writelines(body + b"\n" for body in islice(bodies, stream.requests * spread))
        cpu = await finished(start(stream, folder), stream.seconds + DRAIN_SECONDS)
        sent = parse((folder / "summary.json").read_bytes(), rows(folder / "rows.db"), stream)
    sent.cpu = cpu
    return sent


def start(stream: Stream, folder: Path) -> subprocess.Popen[bytes]:
    """oha, at work."""
    options = {
        "-n": stream.requests,
        "-q": stream.rate,
        "-c": min(stream.connections, stream.requests),
        "-t": f"{REQUEST_SECONDS}s",
        "-m": "POST",
        "-T": "application/json",
        "-Z": folder / "bodies",
        "--worker-threads": 1,
        "--output-format": "json",
        "--output": folder / "summary.json",
        "--db-url": folder / "rows.db",
    }
    words = [str(word) for option in options.items() for word in option]
    command = [str(OHA), *words, "--latency-correction", "--no-tui", stream.url]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


async def finished(process: subprocess.Popen[bytes], seconds: float) -> float:
    """Waits for its end; the CPU seconds that it used."""
    waiting = asyncio.create_task(asyncio.to_thread(os.wait4, process.pid, 0))
    try:
        await asyncio.wait_for(asyncio.shield(waiting), seconds)
    except TimeoutError:
        raise SystemExit("the service did not answer what was sent to it in time") from None
    finally:
        if not waiting.done():
            process.kill()
        _, status, usage = await waiting
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"oha ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def rows(path: Path) -> list[tuple[float, float, int]]:
    """Of every answered request: handed out, ended (seconds of one clock), status; in the order of handing out."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(ROWS).fetchall()


def parse(summary: bytes, rows: list[tuple[float, float, int]], stream: Stream) -> Sent:
    """Answers with the starts that were intended. ValueError where requests are missing from both outputs.

    Broken requests leave gaps that nobody can place in the row: then the instant of handing out has to do.
    """
    broken = msgspec.json.decode(summary)["errorDistribution"]
    if len(rows) + sum(broken.values()) != stream.requests:
        raise ValueError(f"{len(rows)} answers and {broken} of {stream.requests} requests")
    late = lateness([handed_out for handed_out, _, _ in rows], stream.rate)
    slack = [0.0] * len(rows) if broken else late
    first = rows[0][0] - late[0] if rows else 0.0
    answers = [
        Answer(handed_out - behind - first, end - first, status)
        for (handed_out, end, status), behind in zip(rows, slack, strict=True)
    ]
    return Sent(stream.requests, answers, [] if broken else late, broken)


def lateness(handed_out: list[float], rate: float) -> list[float]:
    """How far each is behind its place in the schedule, which begins so that the most punctual one is on time."""
    behind = [instant - place / rate for place, instant in enumerate(handed_out)]
    return [each - min(behind) for each in behind] if behind else []
