"""The packaged model: to the last bit a text's vector depends on the text alone, not on lane or process."""

import asyncio
import json
import subprocess
import sys
import threading
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.embedder import open_embedder
from memex.embedder.batcher import Batcher
from memex.embedder.chunks import OVERLAP, Chunks, open_tokenizer
from memex.embedder.encoder import Role
from memex.embedder.engines import open_encoder
from memex.embedder.models import open_model
from memex.embedder.onnx import OnnxEncoder, options
from memex.metrics import Metrics
from memex.settings import Embedding, Engine
from tests.fakes import PATIENCE, PATIENT

MODEL = "e5-small-v2"
TEXTS = [
    "Ana keeps the spare key under the blue pot.",
    "The meeting moved to Thursday at ten.",
    "用户小明喜欢用 Java 写后端服务",
    "Встреча перенесена на четверг.",
    "東京で桜を見た",
    "서울에서 커피를 마셨다",
    "crème brûlée für zwei 🎉",
    "x",
    "Order 4711-B, 3.50 €",
    "river copper lantern window garden bridge market silver thunder orchard " * 5,
]
ODD = [
    ".",
    "\u200b",
    "🙂",
    "\U000e0001\U0010fffd",
    "茶",
    "ᄒ",
    "a" * 8_000,
    "茶" * 520,
    "́",
    "[CLS] [SEP] [PAD]",
    " \t\n x",
]


@pytest.fixture(scope="module")
def directory():
    return open_model(MODEL)


@pytest.fixture(scope="module")
def encoder(directory):
    return OnnxEncoder(directory.graph, directory.card.pooling, streams=2)


@pytest.fixture(scope="module")
def tokenizer(directory):
    return open_tokenizer(directory.tokenizer)


@pytest.fixture(scope="module")
def chunks(directory, tokenizer):
    return Chunks(tokenizer, directory.card)


@pytest.fixture(scope="module", params=[Engine.NATIVE, Engine.ONNXRUNTIME])
def embedder(request):
    settings = msgspec.structs.replace(PATIENT, model=MODEL, engine=request.param, streams=2, cache_bytes=0)
    started = open_embedder(settings, 1, Metrics())
    yield started
    asyncio.run(asyncio.wait_for(started.close(), PATIENCE))


def sequences(length: int, count: int, seed: int) -> list[list[int]]:
    """Token sequences such as any text may become."""
    ids = np.random.default_rng(seed).integers(1000, 30_000, (count, length))
    ids[:, 0], ids[:, -1] = 101, 102
    rows: list[list[int]] = ids.tolist()
    return rows


def bits(rows: Any) -> Any:
    return np.asarray(rows).view(np.uint32)


def test_batches_are_exact_so_that_texts_need_not_run_one_by_one(encoder):
    assert encoder.exact_in_batches


@pytest.mark.parametrize(
    ("length", "most"), [(2, 7), (3, 7), (5, 7), (8, 32), (13, 32), (16, 7), (17, 7), (32, 7), (65, 3)]
)
def test_a_vector_is_the_same_alone_in_any_batch_order_and_company(encoder, length, most):
    texts = sequences(length, most, seed=length)
    alone = bits(np.concatenate([encoder.encode([text]) for text in texts]))
    for size in (2, 3, most):
        assert np.array_equal(bits(encoder.encode(texts[:size])), alone[:size]), f"batch of {size}"
    assert np.array_equal(bits(encoder.encode(texts[::-1])), alone[::-1])
    strangers = sequences(length, 2, seed=length + 1000)
    assert np.array_equal(bits(encoder.encode([*strangers, texts[0]]))[-1], alone[0])


def test_a_vector_is_the_same_in_two_threads_at_once(encoder):
    texts = sequences(12, 8, seed=5)
    alone = bits(encoder.encode(texts))
    barrier = threading.Barrier(2, timeout=PATIENCE)
    found: list[Any] = []

    def run() -> None:
        barrier.wait()
        found.extend(bits(encoder.encode([text])[0]) for text in texts)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 16
    assert all(any(np.array_equal(row, one) for one in alone) for row in found)


def test_a_second_session_gives_the_same_bits(directory, encoder):
    texts = sequences(10, 3, seed=9)
    other = OnnxEncoder(directory.graph, directory.card.pooling, streams=1)
    assert np.array_equal(bits(other.encode(texts)), bits(encoder.encode(texts)))


def test_another_process_gives_the_same_bits(directory, encoder):
    texts = sequences(10, 3, seed=9)
    program = (
        "import json, sys; from pathlib import Path; from memex.embedder.onnx import OnnxEncoder; "
        "graph, pooling, texts = json.load(sys.stdin); "
        "sys.stdout.buffer.write(OnnxEncoder(Path(graph), pooling, 1).encode(texts).tobytes())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([str(directory.graph), directory.card.pooling, texts]).encode(),
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    assert run.stdout == encoder.encode(texts).tobytes()


@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.ONNXRUNTIME])
async def test_a_vector_is_the_same_from_either_lane(directory, engine):
    encoder = open_encoder(directory, engine, 2)
    batcher = Batcher(encoder, PATIENT, Metrics())
    batcher.start(1e-4)
    texts = [*sequences(9, 4, seed=1), *sequences(13, 4, seed=2)]
    lanes = await asyncio.gather(*(batcher.embed(role, texts) for role in Role))
    await asyncio.wait_for(batcher.close(), PATIENCE)
    alone = bits(np.concatenate([encoder.encode([text]) for text in texts]))
    assert [np.array_equal(bits(np.stack(lane)), alone) for lane in lanes] == [True, True]


@pytest.mark.parametrize(("workers", "asked", "streams"), [(1, 0, 5), (2, 0, 2), (9, 0, 1), (2, 3, 3)])
def test_workers_share_the_cores_unless_told_otherwise(monkeypatch, workers, asked, streams):
    monkeypatch.setattr("memex.embedder.embedder.usable_cores", lambda: 5)
    opened = open_embedder(Embedding(engine=Engine.NATIVE, streams=asked), workers, Metrics())
    asyncio.run(asyncio.wait_for(opened.close(), PATIENCE))
    assert opened.streams == streams


def test_the_runtime_neither_spins_nor_keeps_memory_nor_starts_threads():
    chosen = options()
    assert (chosen.intra_op_num_threads, chosen.inter_op_num_threads) == (1, 1)
    assert (chosen.enable_cpu_mem_arena, chosen.enable_mem_pattern) == (False, False)
    for pool in ("intra", "inter"):
        assert chosen.get_session_config_entry(f"session.{pool}_op.allow_spinning") == "0"


async def test_texts_embedded_together_and_one_by_one_are_equal(embedder):
    async def everything(text: str) -> Any:
        return await embedder.query(text), *await embedder.passages(text)

    together = await asyncio.gather(*(everything(text) for text in TEXTS))
    for text, found in zip(TEXTS, together, strict=True):
        assert np.array_equal(bits(found), bits(await everything(text)))


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text[:6]))
async def test_odd_texts_have_finite_unit_vectors(embedder, text):
    for vector in (await embedder.query(text), *await embedder.passages(text)):
        assert vector.shape == (embedder.card.dimensions,)
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


async def test_a_question_is_nearer_to_its_answer_than_to_other_texts(embedder):
    answers = [(await embedder.passages(text))[0] for text in TEXTS]
    for question, answer in [("Where is the spare key?", 0), ("What day was the meeting moved to?", 1)]:
        assert int(np.argmax(answers @ await embedder.query(question))) == answer


async def test_roles_differ(embedder):
    assert not np.array_equal(await embedder.query(TEXTS[0]), (await embedder.passages(TEXTS[0]))[0])


@pytest.mark.parametrize(("total", "expected"), [(510, 1), (511, 1), (512, 1), (513, 2)])
async def test_the_windows_boundary(embedder, chunks, total, expected):
    text = " ".join(["tea"] * (total - 4))  # [CLS] passage : … [SEP]
    split = await chunks.split(Role.PASSAGE, text)
    halves = [4 + (total - 4 + OVERLAP) // 2, 4 + (total - 4 + OVERLAP + 1) // 2]
    assert [len(chunk) for chunk in split] == ([total] if expected == 1 else halves)
    vectors = await embedder.passages(text)
    assert len(vectors) == expected
    assert all(np.isfinite(vector).all() for vector in vectors)


@given(st.text(max_size=80))
def test_prefix_and_text_may_be_tokenised_apart(tokenizer, directory, text):
    for prefix in (directory.card.query_prefix, directory.card.passage_prefix):
        apart = [tokenizer.encode(part, add_special_tokens=False).ids for part in (prefix, text)]
        assert tokenizer.encode(prefix + text, add_special_tokens=False).ids == apart[0] + apart[1]


async def test_a_short_text_runs_at_its_own_length(chunks):
    assert await chunks.split(Role.QUERY, "tea") == [[101, 23032, 1024, 5572, 102]]
