"""Encoder threads that take what waits. No timer: a lone text goes at once; under load batches form by themselves."""

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Sequence

from memex.embedder.encoder import Encoder, Role, Tokens
from memex.embedder.lanes import Lanes, Work
from memex.embedder.vectors import Vector, unit
from memex.errors import EncoderFailed, Overloaded, Unavailable
from memex.metrics import Metrics
from memex.model import QueueStats
from memex.settings import Embedding

log = logging.getLogger(__name__)

# How much one forward pass moves the measured seconds per token.
WEIGHT = 0.1
LEAP = 4.0
Outcome = Vector | Exception


class Batcher:
    """One thread per encoder stream, fed from one event loop, bounded by estimated seconds of work."""

    def __init__(self, encoder: Encoder, settings: Embedding, metrics: Metrics) -> None:
        """Takes texts only after `start`."""
        self._encoder = encoder
        self._pass_seconds = settings.pass_seconds
        self._bounds = {Role.QUERY: settings.search_queue_seconds, Role.PASSAGE: settings.write_queue_seconds}
        self._lanes = Lanes(encoder.ragged)
        self._ready = threading.Condition()
        self._busy = 0
        self._open = False
        self._waking = False
        self._pace = 0.0
        self._threads: list[threading.Thread] = []
        self._waiting = metrics.queue_tokens
        self._sizes = metrics.batch_texts
        self._durations = {role: metrics.embedding.labels(role.value) for role in Role}
        self._waits = {role: metrics.wait.labels(role.value) for role in Role}

    def start(self, pace: float) -> None:
        """`pace` (> 0) in seconds per token is the first estimate; every forward pass corrects it."""
        self._pace = pace
        self._open = True
        names = (f"memex-encoder-{number}" for number in range(self._encoder.streams))
        self._threads = [threading.Thread(target=self._serve, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def admit(self, role: Role) -> None:
        """Raises what `embed` would raise of a text that came now, before any time is spent on its tokens."""
        with self._ready:
            self._admit(role)

    def stats(self) -> QueueStats:
        """What waits, without the texts whose callers have gone."""
        with self._ready:
            self._lanes.prune()
            tokens, streams = self._lanes.tokens, self._encoder.streams
            seconds = round(tokens * self._pace / streams, 3)
            return QueueStats(texts=len(self._lanes), tokens=tokens, seconds=seconds, streams=streams)

    async def embed(self, role: Role, texts: Sequence[Tokens]) -> tuple[Vector, ...]:
        """One unit vector per text. All wait or none: Overloaded, Unavailable when closed, EncoderFailed.

        Cancelled, or failed for one of them, it gives up those that have not been taken yet.
        """
        loop = asyncio.get_running_loop()
        now = time.perf_counter()
        works = [Work(role, tokens, loop.create_future(), now) for tokens in texts]
        self._enqueue(role, works)
        if not self._waking:
            # After all that arrives in this turn of the loop, so that it can share a forward pass.
            self._waking = True
            loop.call_soon(self._wake)
        try:
            if len(works) == 1:  # nearly always, and a good deal quicker
                return (await works[0].future,)
            return tuple(await asyncio.gather(*(work.future for work in works)))
        finally:
            for work in works:
                work.future.cancel()

    async def close(self) -> None:
        """Fails what waits, finishes what runs, and ends the threads."""
        with self._ready:
            self._open = False
            waiting = self._lanes.clear()
            self._waiting.set(0)
            self._ready.notify_all()
        settle(waiting, [Unavailable("memex is stopping; try again.")] * len(waiting))
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _enqueue(self, role: Role, works: list[Work]) -> None:
        with self._ready:
            self._admit(role)
            self._lanes.add(works)
            self._waiting.set(self._lanes.tokens)

    def _admit(self, role: Role) -> None:
        """Refuses a text that would wait too long. Its own work does not count: a long text must be possible."""
        if not self._open:
            raise Unavailable("memex is stopping; try again.")
        if self._seconds_ahead(role) < self._bounds[role]:
            return
        self._lanes.prune()
        seconds = self._seconds_ahead(role)
        if seconds >= self._bounds[role]:
            raise Overloaded(retry_after=math.ceil(seconds))

    def _seconds_ahead(self, role: Role) -> float:
        return self._lanes.ahead(role) * self._pace / self._encoder.streams

    def _wake(self) -> None:
        self._waking = False
        with self._ready:
            self._ready.notify(len(self._lanes))

    def _serve(self) -> None:
        """The life of one encoder thread."""
        while batch := self._next():
            started = time.perf_counter()
            outcomes = self._encoded(batch)
            self._measure(batch, started, time.perf_counter())
            # The loop may be closed by a process that is going down: nobody waits then.
            with contextlib.suppress(RuntimeError):
                batch[0].future.get_loop().call_soon_threadsafe(settle, batch, outcomes)

    def _next(self) -> list[Work]:
        """Waits for a batch. Empty when the batcher is closed and nothing waits."""
        with self._ready:
            while True:
                if batch := self._lanes.take(self._budget()):
                    self._busy += 1
                    self._waiting.set(self._lanes.tokens)
                    return batch
                if not self._open:
                    return []
                self._ready.wait()

    def _budget(self) -> int:
        """What one pass has time for, or this stream's share of what waits: a free stream beside it works too."""
        free = self._encoder.streams - self._busy
        return min(int(self._pass_seconds / self._pace), math.ceil(self._lanes.tokens / free))

    def _encoded(self, batch: Sequence[Work]) -> list[Outcome]:
        """A vector or an error for each. A batch that fails is tried one by one: only the culprit fails."""
        try:
            rows = self._encoder.encode([work.tokens for work in batch])
            return [checked(row) for _, row in zip(batch, rows, strict=True)]
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread lives on
            if len(batch) == 1:
                return [failure(error)]
        return [outcome for work in batch for outcome in self._encoded([work])]

    def _measure(self, batch: Sequence[Work], started: float, ended: float) -> None:
        """The forward pass alone, and the wait for it apart."""
        seconds = ended - started
        with self._ready:
            self._busy -= 1
            self._pace = corrected(self._pace, seconds / sum(len(work.tokens) for work in batch))
        self._sizes.observe(len(batch))
        for work in batch:
            self._durations[work.role].observe(seconds)
            self._waits[work.role].observe(started - work.queued)


def corrected(pace: float, measured: float) -> float:
    """The moving estimate. One pass counts at most LEAP times as slow: the process may have been stopped meanwhile."""
    return pace + WEIGHT * (min(measured, LEAP * pace) - pace)


def failure(error: Exception) -> EncoderFailed:
    """What callers see. What an engine did not foresee is on the log with its trace."""
    if isinstance(error, EncoderFailed):
        return error
    log.error("the encoder failed in a way that it did not foresee", exc_info=error)
    return EncoderFailed()


def checked(row: Vector) -> Outcome:
    """The vector to give out, or why there is none."""
    try:
        return unit(row)
    except Unavailable as error:
        return error


def settle(works: Sequence[Work], outcomes: Sequence[Outcome]) -> None:
    """In the event loop: hand each outcome to its caller, unless the caller has gone."""
    for work, outcome in zip(works, outcomes, strict=True):
        if work.future.done():
            continue
        if isinstance(outcome, Exception):
            work.future.set_exception(outcome)
        else:
            work.future.set_result(outcome)
