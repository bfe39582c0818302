"""Puts a model directory to the proof: it loads, its vectors are sound, and questions find their answers."""

from pathlib import Path

import msgspec

from memex.embedder.chunks import open_tokenizer
from memex.embedder.encoder import Encoder
from memex.embedder.engines import open_encoder
from memex.embedder.models import probes
from memex.embedder.models.directory import ModelDirectory
from memex.embedder.models.probes import Prefixes, Probe
from memex.embedder.models.sources import open_source
from memex.embedder.onnx import OnnxEncoder
from memex.embedder.scripts import known_scripts
from memex.errors import EncoderFailed, ModelDamaged
from memex.settings import Engine

# Below these something is wrong: other weights, other pooling, another tokenizer.
LEAST_FOUND = 0.5
LEAST_COSINE = 0.98
# Between the card's floor and ceiling and what is measured here.
SLACK = 0.1


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    good: bool
    about: str
    text: str


def examine(model: ModelDirectory, against: Path | None) -> list[Finding]:
    """What is to be said of an opened model; `against` is the public fp32 source to compare with, if it is there.

    Raises ModelDamaged where it does not run at all.
    """
    card = model.card
    encoder = open_encoder(model, Engine.AUTO, 1)
    runtime = encoder if isinstance(encoder, OnnxEncoder) else open_encoder(model, Engine.ONNXRUNTIME, 1)
    tokenizer = open_tokenizer(model.tokenizer)
    probe = attempt(encoder, model)
    dimensions = probe.questions.shape[1]
    findings = [
        Finding(True, "files", f"{card.id}, {len(card.files)} files with the digests of its card"),
        Finding(
            dimensions == card.dimensions, "vectors", f"{dimensions} dimensions, unit length, window {card.window}"
        ),
        running(encoder, probe, card.window),
        *([] if runtime is encoder else [running(runtime, attempt(runtime, model), card.window)]),
        Finding(probe.found >= LEAST_FOUND, "search", f"{probe.found:.0%} of the trial questions find their answer"),
        band(model, probe),
        Finding(True, "scripts", f"reads {', '.join(sorted(known_scripts(tokenizer))) or 'none that memex knows'}"),
    ]
    return [*findings, fidelity(probe, model, against)] if against else findings


def attempt(encoder: Encoder, model: ModelDirectory) -> Probe:
    """The shipped sentences through the model."""
    card = model.card
    prefixes = Prefixes(card.query_prefix, card.passage_prefix)
    try:
        return probes.run(encoder, open_tokenizer(model.tokenizer), prefixes, card.window)
    except EncoderFailed as error:
        raise ModelDamaged(f"The model '{card.name}' gives no vectors of unit length.") from error


def running(encoder: Encoder, probe: Probe, window: int) -> Finding:
    """How fast an engine runs the model, and whether a text has the same bits alone and among others."""
    exact = probes.alone_and_together(encoder, window)
    alone = isinstance(encoder, OnnxEncoder) and not encoder.exact_in_batches
    how = "one text at a time: its graph mixes the texts of a batch" if alone else "in batches"
    return Finding(exact, "engine", f"{encoder.engine}, {probe.rate:.0f} short texts/s on one thread, {how}")


def band(model: ModelDirectory, probe: Probe) -> Finding:
    """Whether the card's floor and ceiling are those of this model."""
    card = model.card
    near = abs(card.floor - probe.floor) < SLACK and abs(card.ceiling - probe.ceiling) < SLACK
    return Finding(near, "band", f"floor {card.floor}, ceiling {card.ceiling}; measured {probe.floor}, {probe.ceiling}")


def fidelity(probe: Probe, model: ModelDirectory, against: Path) -> Finding:
    """How near the vectors are to those of the public source."""
    card = model.card
    with open_source(against) as source:
        encoder = OnnxEncoder(source.graph, card.pooling, 1)
        tokenizer = open_tokenizer(source.tokenizer)
        truth = probes.run(encoder, tokenizer, Prefixes(card.query_prefix, card.passage_prefix), card.window)
    found = probes.compare(probe, truth)
    return Finding(found.mean >= LEAST_COSINE, "fidelity", f"to {against.name}: {found}")
