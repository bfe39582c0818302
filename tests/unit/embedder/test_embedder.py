import asyncio

import msgspec
import numpy as np
import pytest

from memex.embedder.chunks import Chunks
from memex.embedder.embedder import Embedder, check_vocabulary, warm_up
from memex.embedder.vectors import mean
from memex.errors import EncoderFailed, Invalid, ModelDamaged, Overloaded, Unavailable
from memex.metrics import Metrics
from memex.settings import Embedding
from tests.fakes import PATIENCE, PATIENT, FakeEncoder, embedding, fake_card, fake_embedder, fake_tokenizer


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
async def measured(encoder, metrics):
    """An embedder whose metrics can be read."""
    started = fake_embedder(encoder, metrics=metrics)
    started.start()
    encoder.forget()
    yield started
    await started.close()


@pytest.fixture
async def windowed(encoder):
    """One with a window of 32 bytes and real prefixes."""
    card = msgspec.structs.replace(fake_card(window=32), query_prefix="q: ", passage_prefix="p: ")
    started = Embedder(encoder, Chunks(fake_tokenizer(), card), card, PATIENT, Metrics())
    started.start()
    encoder.forget()
    yield started
    await started.close()


async def test_a_query_and_a_passage_are_unit_vectors_of_their_words(embedder):
    query = await embedder.query("green tea")
    (passage,) = await embedder.passages("green tea")
    assert np.array_equal(query, embedding("green tea"))
    assert np.array_equal(passage, query)
    assert (query.shape, query.dtype) == ((embedder.card.dimensions,), np.float32)
    with pytest.raises(ValueError, match="read-only"):
        query[0] = 0


async def test_each_role_has_its_prefix(windowed, encoder):
    await windowed.query("tea")
    await windowed.passages("tea")
    assert encoder.texts == ["q: tea", "p: tea"]


async def test_a_repeated_text_is_embedded_once_per_role_and_domain(embedder, encoder):
    for _ in range(3):
        await embedder.query("tea", domain="a")
        await embedder.passages("tea", domain="a")
        await embedder.query("tea", domain="b")
    assert encoder.texts == ["tea"] * 3


async def test_two_hundred_equal_queries_are_one_computation(embedder, encoder):
    encoder.hold()
    tasks = [asyncio.create_task(embedder.query("tea")) for _ in range(200)]
    assert await asyncio.to_thread(encoder.started.acquire, timeout=PATIENCE)
    encoder.release()
    vectors = await asyncio.gather(*tasks)
    assert encoder.texts == ["tea"]
    assert all(vector is vectors[0] for vector in vectors)


async def test_a_query_that_all_have_left_is_never_computed(embedder, encoder):
    encoder.hold()
    running = asyncio.create_task(embedder.query("running"))
    assert await asyncio.to_thread(encoder.started.acquire, timeout=PATIENCE)
    gone = [asyncio.create_task(embedder.query("gone")) for _ in range(2)]
    after = asyncio.create_task(embedder.query("after"))
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, turn.set)
    await turn.wait()
    for task in gone:
        task.cancel()
    await asyncio.wait(gone)
    encoder.release()
    await asyncio.gather(running, after)
    assert encoder.texts == ["running", "after"]


async def test_a_long_passage_has_a_vector_per_chunk_and_a_list_of_its_own(windowed, encoder):
    text = "abcdefghijklmnopqrstuvwxyz0123456789"  # 36 bytes; 27 fit beside [CLS], prefix and [SEP]
    vectors = await windowed.passages(text)
    pieces = ["p: abcdefghijklmnopqrstuvwx", "p: lmnopqrstuvwxyz0123456789"]
    assert [np.array_equal(v, embedding(p)) for v, p in zip(vectors, pieces, strict=True)] == [True, True]
    vectors.clear()
    assert len(await windowed.passages(text)) == 2
    assert len(encoder.texts) == 2


async def test_a_query_past_the_window_is_the_mean_of_its_chunks_and_nothing_is_cut(windowed):
    text = "abcdefghijklmnopqrstuvwxyz0123456789"
    chunks = [embedding("q: abcdefghijklmnopqrstuvwx"), embedding("q: lmnopqrstuvwxyz0123456789")]
    assert np.array_equal(await windowed.query(text), mean(chunks))


async def test_too_many_chunks_are_the_callers_fault_not_the_models(windowed, encoder):
    with pytest.raises(Invalid):
        await windowed.passages("x" * 5000)
    assert encoder.texts == []


async def test_failures_are_counted_not_kept_and_the_next_call_retries(measured, encoder, metrics):
    encoder.failure = EncoderFailed()
    with pytest.raises(EncoderFailed):
        await measured.query("tea")
    labels = {"operation": "query", "error_type": "encoder_failed"}
    assert sample(metrics, "memex_embedding_errors_total", **labels) == 1
    encoder.failure = None
    assert np.array_equal(await measured.query("tea"), embedding("tea"))


async def test_a_failed_chunk_fails_the_whole_passage(windowed, encoder):
    encoder.failure, encoder.poison = EncoderFailed(), "789"
    with pytest.raises(EncoderFailed):
        await windowed.passages("abcdefghijklmnopqrstuvwxyz0123456789")


async def test_a_text_that_would_be_refused_is_refused_before_its_tokens_are_known(encoder, monkeypatch):
    full = fake_embedder(encoder, Embedding(write_queue_seconds=1e-12))
    full.start()
    encoder.forget()
    encoder.hold()
    running = asyncio.create_task(full.passages("running"))
    assert await asyncio.to_thread(encoder.started.acquire, timeout=PATIENCE)
    waiting = asyncio.create_task(full.passages("waiting"))
    for _turn in range(5):
        await asyncio.sleep(0)
    asked = []
    monkeypatch.setattr("memex.embedder.chunks.token_ids", lambda *given: asked.append(given))
    with pytest.raises(Overloaded):
        await full.passages("late")
    assert asked == []
    encoder.release()
    await asyncio.gather(running, waiting)
    await full.close()


async def test_a_hit_is_not_timed_as_an_embedding(measured, metrics):
    for _ in range(3):
        await measured.query("tea")
    assert sample(metrics, "memex_embedding_duration_seconds_count", operation="query") == 1
    assert sample(metrics, "memex_embedding_cache_total", outcome="hit") == 2


async def test_a_closed_embedder_refuses_and_closes_twice(embedder):
    await embedder.close()
    with pytest.raises(Unavailable):
        await embedder.query("tea")
    await embedder.close()


def test_the_warm_up_measures_and_goes_the_way_of_real_texts():
    encoder = FakeEncoder()
    assert warm_up(encoder, fake_card()) > 0
    assert [len(batch) for batch in encoder.batches] == [1, 1, 1]


def test_a_tokenizer_of_another_model_is_refused_at_start():
    encoder, tokenizer = FakeEncoder(), fake_tokenizer()
    check_vocabulary(encoder, Chunks(tokenizer, fake_card()), fake_card())
    assert encoder.texts == [tokenizer.decode([tokenizer.get_vocab_size() - 1])]
    encoder.failure = EncoderFailed()
    with pytest.raises(ModelDamaged, match="weights lack"):
        check_vocabulary(encoder, Chunks(tokenizer, fake_card()), fake_card())


def test_a_model_of_other_dimensions_than_its_card_says_is_refused_at_start():
    with pytest.raises(ModelDamaged, match="16 dimensions, its card says 384"):
        warm_up(FakeEncoder(dimensions=16), fake_card())


def test_a_model_whose_vectors_are_not_of_unit_length_is_refused_at_start():
    class Long(FakeEncoder):
        def encode(self, batch):
            return 2 * super().encode(batch)

    with pytest.raises(ModelDamaged, match="unit length"):
        warm_up(Long(), fake_card())


def test_a_model_that_fails_is_refused_at_start():
    encoder = FakeEncoder()
    encoder.failure = EncoderFailed()
    with pytest.raises(ModelDamaged, match="'fake'"):
        warm_up(encoder, fake_card())
