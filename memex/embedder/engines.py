"""Which engine runs a model. What is not used is not loaded: onnxruntime alone takes some 60 MB."""

from memex.embedder.encoder import Encoder
from memex.embedder.models import ModelDirectory
from memex.errors import SettingsInvalid
from memex.settings import Engine


def open_encoder(directory: ModelDirectory, engine: Engine, streams: int) -> Encoder:
    """The native engine where the model has weights for it and the processor a fast path, else onnxruntime.

    Both give interchangeable vectors, but not the same bits. Raises SettingsInvalid for a native engine without
    weights, and ModelDamaged.
    """
    if engine is Engine.NATIVE and directory.weights is None:
        name = directory.card.name
        raise SettingsInvalid(
            f"The model '{name}' has no weights for MEMEX_EMBEDDING_ENGINE=native: make them of its fp32 files with "
            "`memex model build`, or set the engine to auto."
        )
    if directory.weights is not None and engine is not Engine.ONNXRUNTIME:
        from memex.embedder.native import NativeEncoder, is_fast  # noqa: PLC0415

        if engine is Engine.NATIVE or is_fast():
            return NativeEncoder(directory.weights, directory.card, streams)
    from memex.embedder.onnx import OnnxEncoder  # noqa: PLC0415

    return OnnxEncoder(directory.graph, directory.card.pooling, streams)
