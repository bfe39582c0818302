"""The reference's load test for Locust, with our own sentences.

    python -m bench.load.seeding http://127.0.0.1:8000
    locust -f bench/load/locustfile.py --host http://127.0.0.1:8000 [--texts unique] [Realistic | Saturation]

With both classes, which is the default and of equal weight, it is the reference's own test. The service's rate limits
have to be off, or most requests are refused, which counts as failure.

Every virtual user waits for its answer before it asks again, those of `Saturation` too: `constant_throughput` is at
most 20 a second. Where a service is slower than that it is simply asked less, and the time that further requests would
have waited is in no latency. Read latencies of a saturated service beside the rate that was asked for, or take the
open loop.
"""

import time
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from locust import FastHttpUser, between, constant_throughput, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

from bench.load.answers import WrongAnswer, hits_of
from bench.load.block import Done, Seen
from bench.load.journal import Journal
from bench.load.workload import Texts, searches, writes

KEEP_EVERY = 16
NUMBERS = count()  # never from the beginning again, so that unique texts stay unique over several tests of one process


@events.init_command_line_parser.add_listener
def options(parser: LocustArgumentParser) -> None:
    """Our own options, which the web page shows too."""
    kinds = [kind.value for kind in Texts]
    parser.add_argument("--texts", choices=kinds, default=Texts.REPEATED.value, help="Which texts are used")
    parser.add_argument("--journal", default="", include_in_web_ui=False, help="Write what was done to this file")


@events.init.add_listener
def begin(environment: Environment, **_: object) -> None:
    """Keeps a journal if one was asked for."""
    if environment.parsed_options and environment.parsed_options.journal:
        recorder = Recorder(Path(environment.parsed_options.journal))
        environment.events.test_start.add_listener(recorder.start)
        environment.events.request.add_listener(recorder.request)
        environment.events.quit.add_listener(recorder.save)


class Recorder:
    """Writes the journal."""

    def __init__(self, path: Path) -> None:
        """`path` is where it goes at the end."""
        self._path = path
        self._journal = Journal()
        self._seen = Seen()
        self._before = 0.0

    def start(self, **_: object) -> None:
        """What was used before, by importing Locust, is not the load's."""
        self._before = time.process_time()

    def request(self, name: str, start_time: float, response_time: float, **event: Any) -> None:
        """One request; `response_time` in milliseconds."""
        seconds, failed = response_time / 1000, event["exception"] is not None
        body, journal = event["context"]["body"], self._journal
        journal.done.append(Done(name, start_time + seconds, seconds, event["context"]["asker"], failed))
        self._seen.add(name, body["query" if name == "search" else "content"])
        if name == "write":
            journal.writes.append((body, not failed))
        elif not failed and len(journal.done) % KEEP_EVERY == 1:
            journal.searches.append((body, event["response"].text))
        if failed and event["response"].status_code == 200:
            journal.wrong.append(str(event["exception"]))

    def save(self, **_: object) -> None:
        """The test is over."""
        self._journal.cpu_seconds = time.process_time() - self._before
        self._journal.repeated_share = self._seen.repeated_share
        self._path.write_bytes(msgspec.json.encode(self._journal))


class MemoryUser(FastHttpUser):
    """One agent that works for one user: three searches for each write."""

    abstract = True
    network_timeout = 30.0

    def on_start(self) -> None:
        """Chooses agent and user, and keeps them."""
        number, texts = next(NUMBERS), Texts(self.environment.parsed_options.texts)
        self._searches = searches(texts, number)
        self._writes = writes(texts, number)

    @task(3)
    def search(self) -> None:
        """A wrong answer is a failure."""
        body = next(self._searches)
        with self._post("/v1/memories/search", "search", body) as answer:
            if answer.status_code == 200:
                try:
                    hits_of(body, answer.content)
                except (WrongAnswer, msgspec.MsgspecError) as wrong:
                    answer.failure(str(wrong))

    @task(1)
    def write(self) -> None:
        """Any status but a 2xx is a failure."""
        with self._post("/v1/memories", "write", next(self._writes)):
            pass

    def _post(self, path: str, name: str, body: dict[str, object]) -> Any:
        context = {"body": body, "asker": type(self).__name__}
        return self.client.post(path, json=body, name=name, context=context, catch_response=True)


class Realistic(MemoryUser):
    """Thinks for 0.1 to 0.3 s between two requests."""

    wait_time = between(0.1, 0.3)


class Saturation(MemoryUser):
    """Asks 20 times a second if it is answered that fast."""

    wait_time = constant_throughput(20)
