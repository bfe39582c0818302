"""Which engine runs a model, and that the other one is not even loaded."""

import subprocess
import sys

import msgspec
import pytest

from memex.embedder.engines import open_encoder
from memex.embedder.models import ModelDirectory, open_model
from memex.errors import SettingsInvalid
from memex.settings import Engine


@pytest.fixture(scope="module")
def model() -> ModelDirectory:
    return open_model("e5-small-v2")


@pytest.fixture(scope="module")
def bare(model: ModelDirectory) -> ModelDirectory:
    """One whose card names no weights file, as of models that were not made by `memex model build`."""
    files = {name: digest for name, digest in model.card.files.items() if name != "model.safetensors"}
    return msgspec.structs.replace(model, card=msgspec.structs.replace(model.card, files=files))


@pytest.mark.parametrize(("fast", "engine"), [(True, "native"), (False, "onnxruntime")])
def test_auto_is_native_where_the_processor_has_a_fast_path(model, monkeypatch, fast, engine):
    monkeypatch.setattr("memex.embedder.native.is_fast", lambda: fast)
    assert open_encoder(model, Engine.AUTO, 1).engine == engine


def test_a_model_without_weights_runs_on_onnxruntime(bare):
    assert open_encoder(bare, Engine.AUTO, 1).engine == "onnxruntime"


@pytest.mark.parametrize("engine", ["native", "onnxruntime"])
def test_what_was_asked_for_is_what_runs(model, monkeypatch, engine):
    monkeypatch.setattr("memex.embedder.native.is_fast", lambda: engine == "onnxruntime")
    assert open_encoder(model, Engine(engine), 3).engine == engine
    assert open_encoder(model, Engine(engine), 3).streams == 3


def test_native_without_weights_says_what_to_do(bare):
    with pytest.raises(SettingsInvalid, match="memex model build"):
        open_encoder(bare, Engine.NATIVE, 1)


def test_the_engine_that_is_not_used_is_not_loaded():
    code = (
        "import sys; from memex.embedder import open_embedder; from memex.metrics import Metrics;"
        "from memex.settings import Embedding, Engine; import asyncio;"
        "embedder = open_embedder(Embedding(engine=Engine.NATIVE), 1, Metrics());"
        "asyncio.run(embedder.close()); print('onnxruntime' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "False\n"
