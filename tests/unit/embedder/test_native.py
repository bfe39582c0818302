"""The compiled encoder on random models of any shape: its arithmetic, its bits, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex import _native
from memex.embedder.native import NativeEncoder, is_fast
from memex.errors import EncoderFailed, ModelDamaged
from tests.oracles.encoder import Encoder as Oracle
from tests.unit.embedder import weights_file
from tests.unit.embedder.weights_file import Shape

SMALL = Shape(vocabulary=41, window=30, heads=2, size=16, width=80, layers=2)
SHAPES = [
    SMALL,
    Shape(vocabulary=30, window=40, heads=3, size=32, width=384, layers=2),
    Shape(vocabulary=30, window=70, heads=2, size=64, width=256, layers=1),
    Shape(vocabulary=30, window=20, heads=4, size=8, width=64, layers=2),
    Shape(vocabulary=30, window=20, heads=5, size=26, width=75, layers=3),
    Shape(vocabulary=3, window=1, heads=1, size=3, width=1, layers=1),
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return weights_file.write(tmp_path_factory.mktemp("weights") / "model.safetensors", SMALL)


@pytest.fixture(scope="module")
def encoder(weights):
    return NativeEncoder(weights, weights_file.card(SMALL), streams=2)


def texts(shape: Shape, lengths: list[int]) -> list[list[int]]:
    random = np.random.default_rng(sum(lengths))
    return [random.integers(0, shape.vocabulary, length).tolist() for length in lengths]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.heads}x{shape.size}")
def test_it_comes_to_what_the_oracle_does(tmp_path, shape, pooling):
    """Where one number is rounded to another code the layers after it make more of it, so those are held to less."""
    for layers, tolerance in [(1, 3e-5), (shape.layers, 5e-3)]:
        shallow = shape._replace(layers=layers)
        path = weights_file.write(tmp_path / "model.safetensors", shallow, seed=shape.size)
        batch = texts(shape, [length for length in (1, 2, 7, 13, 16, 20, 40, 70) if length <= shape.window])
        found = NativeEncoder(path, weights_file.card(shape, pooling), streams=1).encode(batch)
        oracle = Oracle(path, pooling)
        cosines = (found * np.stack([oracle(text) for text in batch])).sum(1)
        assert found.dtype == np.float32
        np.testing.assert_allclose(cosines, 1.0, atol=tolerance)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.heads}x{shape.size}")
def test_every_instruction_set_gives_the_same_bits(tmp_path, shape, pooling):
    if not is_fast():
        pytest.skip("this machine has only the scalar path")
    path = weights_file.write(tmp_path / "model.safetensors", shape, seed=shape.size)
    batch = texts(shape, [1, min(15, shape.window), shape.window])
    card = weights_file.card(shape, pooling)
    paths = [NativeEncoder(path, card, streams=1, isa=isa).encode(batch) for isa in ("scalar", "avx512vnni")]
    assert np.array_equal(paths[0].view(np.uint32), paths[1].view(np.uint32))


def test_poolings_differ(weights):
    batch = texts(SMALL, [9])
    mean, cls = (NativeEncoder(weights, weights_file.card(SMALL, name), 1).encode(batch) for name in ("mean", "cls"))
    assert float((mean * cls).sum()) < 0.999


def test_the_engine_says_what_it_is(encoder):
    assert (encoder.engine, encoder.ragged, encoder.streams) == ("native", True, 2)


ids = st.integers(-(2**70), 2**70) | st.integers(0, SMALL.vocabulary - 1)


@settings(max_examples=200)
@given(st.lists(st.lists(ids, max_size=SMALL.window + 2), max_size=5))
def test_whatever_is_asked_for_is_answered_or_refused_before_any_work(encoder, batch):
    sound = all(1 <= len(text) <= SMALL.window and all(0 <= i < SMALL.vocabulary for i in text) for text in batch)
    if sound and batch:
        assert encoder.encode(batch).shape == (len(batch), SMALL.dimensions)
    else:
        with pytest.raises(EncoderFailed):
            encoder.encode(batch)


class Boastful(list[int]):
    """A list that says it is longer than any memory."""

    def __len__(self) -> int:
        return 10**12


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([], "a batch has at least one text"),
        ([[1], []], "text 1 has 0 tokens, not 1 to 30"),
        ([[1] * 31], "text 0 has 31 tokens, not 1 to 30"),
        ([[1, 41]], "text 0 has the token 41, not one below 41"),
        ([Boastful([1, 2])], "tokens, not 1 to 30"),
        (Boastful([[1, 2]]), "texts, at most"),  # type: ignore[list-item]
        ([[-1]], "out of range"),
        ([[2**32]], "out of range"),
    ],
)
def test_refusals_say_why_and_the_next_call_works(encoder, caplog, batch, message):
    with pytest.raises(EncoderFailed):
        encoder.encode(batch)
    assert message in caplog.text
    assert encoder.encode([[1]]).shape == (1, SMALL.dimensions)


def test_what_is_no_batch_of_ids_is_a_wrong_type(weights):
    encoder = _native.Encoder(str(weights), "mean")
    for batch in (3, "text", [3], ["text"], [[1.5]], [None]):
        with pytest.raises(TypeError):
            encoder.encode(batch)  # type: ignore[arg-type]


def test_any_sequences_of_integers_are_taken(weights):
    encoder = _native.Encoder(weights, "mean")
    expected = encoder.encode([[1, 2, 3]])
    assert encoder.encode(((1, 2, 3),)) == expected
    assert encoder.encode([np.array([1, 2, 3])]) == expected  # type: ignore[list-item]
    assert encoder.encode([range(1, 4)]) == expected


def test_sizes_are_told(weights):
    encoder = _native.Encoder(weights, "cls", "scalar")
    assert (encoder.dimensions, encoder.window, encoder.vocabulary) == (32, 30, 41)
    assert encoder.isa == "scalar"
    assert 0 < encoder.bytes < 200_000
    assert 0 < encoder.stream_bytes < 1_000_000


@pytest.mark.parametrize(("pooling", "isa"), [("max", "auto"), ("mean", "avx9"), ("", "auto"), ("mean", "")])
def test_other_names_are_refused(weights, pooling, isa):
    with pytest.raises(ValueError, match="must be"):
        _native.Encoder(weights, pooling, isa)


def damage(path: Path, start: int, replacement: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[start : start + len(replacement)] = replacement
    path.write_bytes(data)


def test_a_damaged_file_is_a_damaged_model_by_its_name(tmp_path):
    path = weights_file.write(tmp_path / "model.safetensors", SMALL)
    damage(path, 0, b"\xff" * 8)
    with pytest.raises(ModelDamaged, match=r"model\.safetensors .* is not a safetensors file") as refused:
        NativeEncoder(path, weights_file.card(SMALL), streams=1)
    assert str(tmp_path) not in refused.value.message


def test_a_file_that_is_not_there_is_a_damaged_model(tmp_path):
    with pytest.raises(ModelDamaged, match="cannot be read") as refused:
        NativeEncoder(tmp_path / "model.safetensors", weights_file.card(SMALL), streams=1)
    assert "No such file" in refused.value.message


def test_a_card_of_other_sizes_is_refused(weights):
    for other in (SMALL._replace(heads=4), SMALL._replace(window=31)):
        with pytest.raises(ModelDamaged, match="than the card says"):
            NativeEncoder(weights, weights_file.card(other), streams=1)


def test_a_failure_inside_is_ours_outside(encoder, monkeypatch, caplog):
    class Failing:
        def encode(self, batch):
            raise RuntimeError("the native module failed")

    monkeypatch.setattr(encoder, "_encoder", Failing())
    with pytest.raises(EncoderFailed) as failed:
        encoder.encode([[1]])
    assert failed.value.message == "The text could not be embedded. Nothing was stored; try again."
    assert "the native encoder failed on 1 texts: the native module failed" in caplog.text
