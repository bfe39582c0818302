import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from memex.embedder.batcher import LEAP, WEIGHT, Batcher, corrected
from memex.embedder.encoder import Role
from memex.embedder.lanes import PATIENCE as PASSES
from memex.embedder.vectors import Vector
from memex.errors import EncoderFailed, Overloaded, Unavailable
from memex.metrics import Metrics
from memex.settings import Embedding
from tests.fakes import PATIENCE, FakeEncoder, embedding, fake_tokenizer

TOKENIZER = fake_tokenizer()
ONE_BY_ONE: dict[str, Any] = {"pass_seconds": 1e-12}


def tokens(text: str) -> list[int]:
    ids: list[int] = TOKENIZER.encode(text).ids
    return ids


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
async def start(encoder, metrics):
    """Starts batchers, and closes them at the end."""
    started = []

    def begin(using=encoder, pace=1e-9, **settings):
        batcher = Batcher(using, Embedding(**settings), metrics)
        batcher.start(pace)
        started.append((using, batcher))
        return batcher

    yield begin
    for using, batcher in started:
        using.release()
        await asyncio.wait_for(batcher.close(), PATIENCE)


def ask(batcher: Batcher, *texts: str, role: Role = Role.QUERY) -> asyncio.Task[tuple[Vector, ...]]:
    return asyncio.create_task(batcher.embed(role, [tokens(text) for text in texts]))


async def in_work(encoder: FakeEncoder) -> None:
    """Waits until the next call of the encoder has begun."""
    assert await asyncio.to_thread(encoder.started.acquire, timeout=PATIENCE)


async def queued(*tasks: asyncio.Task[tuple[Vector, ...]]) -> None:
    """Waits until each of these has run up to its place in the queue, and all have been announced."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, done.set)
    await done.wait()
    assert not any(task.done() for task in tasks)


async def test_a_lone_text_goes_at_once(encoder, start):
    (vector,) = await ask(start(), "green tea")
    assert np.array_equal(vector, embedding("green tea"))
    assert encoder.batches == [["green tea"]]


async def test_what_arrives_while_the_encoder_works_is_the_next_batch(encoder, start):
    batcher = start()
    encoder.hold()
    first = ask(batcher, "first")
    await in_work(encoder)
    rest = [ask(batcher, text) for text in ("one", "two", "six", "three", "ten")]
    await queued(*rest)
    encoder.release()
    results = await asyncio.gather(first, *rest)
    assert encoder.batches == [["first"], ["one", "two", "six", "ten"], ["three"]]
    for (vector,), text in zip(results, ("first", "one", "two", "six", "three", "ten"), strict=True):
        assert np.array_equal(vector, embedding(text))


async def test_what_arrives_in_one_turn_of_the_loop_is_one_batch(encoder, start):
    async def give_the_threads_time() -> None:
        assert not encoder.started.acquire(timeout=0.05)

    batcher = start()
    first, between, rest = ask(batcher, "one"), asyncio.create_task(give_the_threads_time()), ask(batcher, "two", "six")
    await asyncio.gather(first, between, rest)
    assert encoder.batches == [["one", "two", "six"]]


async def test_free_streams_share_what_waits(start):
    encoder = FakeEncoder(streams=2)
    batcher = start(encoder)
    encoder.hold()
    tasks = [ask(batcher, text) for text in ("one", "two", "six", "ten")]
    await in_work(encoder)
    await in_work(encoder)  # both streams are in work at the same time
    encoder.release()
    await asyncio.gather(*tasks)
    assert sorted(map(len, encoder.batches)) == [2, 2]


async def test_the_time_of_a_pass_bounds_a_batch(encoder, start):
    # The fake is far faster than this pace, so that the estimate falls by a tenth with each pass: not enough for three.
    batcher = start(pace=1.0, pass_seconds=2.0 * len(tokens("one")), search_queue_seconds=PATIENCE)
    await ask(batcher, *["one"] * 5)
    assert [len(batch) for batch in encoder.batches] == [2, 2, 1]


async def test_searches_go_before_writes_but_not_for_ever(encoder, start):
    batcher = start(**ONE_BY_ONE)
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    writes = [ask(batcher, f"w{n}", role=Role.PASSAGE) for n in range(2)]
    searches = [ask(batcher, f"s{n}") for n in range(PASSES + 1)]
    await queued(*writes, *searches)
    encoder.release()
    await asyncio.gather(running, *writes, *searches)
    expected = ["running", *(f"s{n}" for n in range(PASSES)), "w0", f"s{PASSES}", "w1"]
    assert encoder.texts == expected


async def test_a_caller_that_has_gone_costs_no_computation(encoder, start):
    batcher = start()
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    gone, stays = ask(batcher, "gone", "gone too"), ask(batcher, "stays")
    await queued(gone, stays)
    gone.cancel()
    await asyncio.wait([gone])
    encoder.release()
    await asyncio.gather(running, stays)
    assert encoder.texts == ["running", "stays"]


async def test_a_caller_that_goes_during_its_computation_disturbs_nobody(encoder, start):
    batcher = start()
    encoder.hold()
    gone, stays = ask(batcher, "one"), ask(batcher, "two")
    await in_work(encoder)
    gone.cancel()
    await asyncio.wait([gone])
    encoder.release()
    (vector,) = await stays
    assert np.array_equal(vector, embedding("two"))


# ── overload ──


async def test_a_full_queue_refuses_with_the_seconds_to_wait(encoder, start):
    batcher = start(pace=1.0, search_queue_seconds=10.0)
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    waiting = ask(batcher, "x" * 18)  # 20 tokens with the special ones, 20 s
    await queued(waiting)
    with pytest.raises(Overloaded) as refused:
        await ask(batcher, "one more")
    assert refused.value.retry_after == 20
    encoder.release()
    await asyncio.gather(running, waiting)
    assert encoder.texts == ["running", "x" * 18]


async def test_two_streams_wait_half_as_long(start):
    encoder = FakeEncoder(streams=2)
    batcher = start(encoder, pace=1.0, search_queue_seconds=11.0)
    encoder.hold()
    running = [ask(batcher, text) for text in ("one", "two")]
    for _ in running:
        await in_work(encoder)
    waiting = [ask(batcher, "x" * 18)]
    await queued(*waiting)
    waiting.append(ask(batcher, "y" * 18))
    await queued(*waiting)
    with pytest.raises(Overloaded):
        await ask(batcher, "one more")
    encoder.release()
    await asyncio.gather(*running, *waiting)


async def test_however_long_a_text_is_it_is_taken_when_nothing_waits(start):
    (vector,) = await ask(start(pace=1.0, search_queue_seconds=0.001), "x" * 500)
    assert np.isfinite(vector).all()


async def test_writes_that_wait_do_not_refuse_a_search(encoder, start):
    batcher = start(pace=1.0, search_queue_seconds=5.0, write_queue_seconds=5.0)
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    write = ask(batcher, "a long text to remember", role=Role.PASSAGE)
    await queued(write)
    with pytest.raises(Overloaded):
        await ask(batcher, "another", role=Role.PASSAGE)
    search = ask(batcher, "search")
    await queued(search)
    encoder.release()
    await asyncio.gather(running, write, search)
    assert encoder.texts == ["running", "search", "a long text to remember"]


async def test_callers_that_have_gone_make_room(encoder, start):
    batcher = start(pace=1.0, search_queue_seconds=5.0)
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    gone = ask(batcher, "x" * 30)
    await queued(gone)
    gone.cancel()
    await asyncio.wait([gone])
    accepted = ask(batcher, "accepted")
    await queued(accepted)
    encoder.release()
    await asyncio.gather(running, accepted)
    assert encoder.texts == ["running", "accepted"]


def test_the_pace_follows_slowly_and_one_stop_of_the_process_does_not_close_the_door():
    assert corrected(1.0, 2.0) == pytest.approx(1.0 + WEIGHT)
    assert corrected(1.0, 0.0) == pytest.approx(1.0 - WEIGHT)
    assert corrected(1.0, 1e6) == pytest.approx(1.0 + WEIGHT * (LEAP - 1))


# ── failures ──


async def test_a_failure_reaches_its_caller_and_the_next_text_works(encoder, start):
    batcher = start()
    encoder.failure = EncoderFailed()
    with pytest.raises(EncoderFailed):
        await ask(batcher, "one")
    encoder.failure = None
    assert len(await ask(batcher, "two")) == 1


async def test_in_a_batch_only_the_culprit_fails(encoder, start):
    batcher = start()
    encoder.failure, encoder.poison = EncoderFailed(), "bad"
    tasks = [ask(batcher, text) for text in ("one", "bad", "two")]
    await asyncio.wait(tasks)
    assert encoder.batches[0] == ["one", "bad", "two"]
    assert [type(task.exception()) for task in tasks] == [type(None), EncoderFailed, type(None)]


async def test_when_one_text_of_a_caller_fails_the_rest_is_given_up(start):
    class Once(FakeEncoder):
        def encode(self, batch):
            if self.batches:
                return super().encode(batch)
            self.batches.append(["bad"])
            self.hold()  # so that the next call is still in work when the caller hears of this one
            raise EncoderFailed

    encoder = Once()
    batcher = start(encoder, **ONE_BY_ONE)
    with pytest.raises(EncoderFailed):
        await ask(batcher, "bad", "in work", "given up")
    encoder.release()
    await ask(batcher, "after")
    assert encoder.texts in (["bad", "in work", "after"], ["bad", "after"])


async def test_an_unforeseen_error_is_a_failure_of_the_encoder_and_does_not_kill_the_stream(encoder, start, caplog):
    batcher = start()
    encoder.failure = ZeroDivisionError()
    with pytest.raises(EncoderFailed):
        await ask(batcher, "one")
    assert "ZeroDivisionError" in caplog.text
    encoder.failure = None
    assert len(await ask(batcher, "two")) == 1


@pytest.mark.parametrize("row", [np.nan, np.inf, 0.0, 1.0])
async def test_a_vector_that_is_not_finite_and_of_unit_length_fails_alone(start, row):
    class Spoiled(FakeEncoder):
        def encode(self, batch):
            rows = super().encode(batch)
            rows[self.batches[-1].index("bad")] = row
            return rows

    batcher = start(Spoiled())
    tasks = [ask(batcher, text) for text in ("one", "bad", "two")]
    await asyncio.wait(tasks)
    assert [type(task.exception()) for task in tasks] == [type(None), EncoderFailed, type(None)]


async def test_an_encoder_that_returns_too_few_rows_leaves_nobody_waiting(start):
    class Short(FakeEncoder):
        def encode(self, batch):
            return super().encode(batch)[:0]

    with pytest.raises(EncoderFailed):
        await asyncio.wait_for(ask(start(Short()), "one", "two"), PATIENCE)


# ── closing ──


def encoder_threads() -> set[threading.Thread]:
    """Those of all batchers that run."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("memex-encoder-")}


async def test_closing_fails_what_waits_finishes_what_runs_and_ends_the_threads(encoder, start):
    before = encoder_threads()
    batcher = start()
    threads = encoder_threads() - before
    assert len(threads) == encoder.streams
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    waiting = [ask(batcher, text) for text in ("one", "two")]
    await queued(*waiting)
    closing = asyncio.create_task(batcher.close())
    await asyncio.wait(waiting, timeout=PATIENCE)
    assert [type(task.exception()) for task in waiting] == [Unavailable] * 2
    encoder.release()
    assert len(await running) == 1
    await asyncio.wait_for(closing, PATIENCE)
    assert encoder.texts == ["running"]
    assert not threads & encoder_threads()


async def test_a_closed_batcher_refuses_at_once_and_closes_twice(start):
    batcher = start()
    await batcher.close()
    with pytest.raises(Unavailable):
        await ask(batcher, "one")
    await batcher.close()


async def test_a_batcher_that_was_never_started_refuses_instead_of_hanging(encoder, metrics):
    with pytest.raises(Unavailable):
        await ask(Batcher(encoder, Embedding(), metrics), "one")


# ── metrics ──


async def test_metrics_tell_of_the_queue_the_batches_and_the_passes(encoder, start, metrics):
    def value(name: str, **labels: str) -> Any:
        return metrics.registry.get_sample_value(f"memex_embedding_{name}", labels)

    batcher = start()
    encoder.hold()
    running = ask(batcher, "running")
    await in_work(encoder)
    waiting = [ask(batcher, text, role=Role.PASSAGE) for text in ("one", "two")]
    await queued(*waiting)
    assert value("queue_tokens") == len(tokens("one")) + len(tokens("two"))
    encoder.release()
    await asyncio.gather(running, *waiting)
    assert value("queue_tokens") == 0
    assert (value("batch_texts_count"), value("batch_texts_sum")) == (2, 3)
    assert value("duration_seconds_count", operation="query") == 1
    assert value("duration_seconds_count", operation="passage") == 2
    assert value("wait_seconds_count", operation="query") == 1
    assert value("wait_seconds_count", operation="passage") == 2
    assert 0 <= value("wait_seconds_sum", operation="passage") < 2 * PATIENCE
