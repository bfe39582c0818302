"""The bare encoder, one thread: native beside onnxruntime in fp32 and with the public dynamic int8 file.

python -m bench.encoding.encoder --fp32 FILE.onnx --stock FILE.onnx
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from bench.ceilings import measure_ceilings
from bench.encoding.batches import endless, equal, mixed
from bench.encoding.engines import Encode, alone, native, runtime
from bench.noise import watched
from bench.pairs import LEAST_PAIRS, medians, ratios
from bench.results import Result, record
from memex.embedder.encoder import Tokens

CASES: dict[str, list[list[Tokens]]] = {
    **{
        f"{tokens} tokens, batch {batch}": equal(tokens, batch)
        for tokens in (8, 13, 32, 64, 128, 256)
        for batch in (1, 32)
    },
    "mixed 8 to 128 tokens, batch 32": mixed(8, 128, 32),
}
THREADED = "13 tokens, batch 32"
PEAK_CASES = ("13 tokens, batch 1", "13 tokens, batch 32")
PRODUCTS_PER_TOKEN = 12 * (384 * 1152 + 384 * 384 + 2 * 384 * 1536)
"""Of the packaged model: layers × (query, key, value + attention output + both feed-forward steps)."""
LEAST_COSINE = {"fp32": 0.998, "stock": 0.95}
"""Of random tokens, which are further from the calibration than any text."""


@click.command()
@click.option("--fp32", type=click.Path(exists=True, path_type=Path), required=True, help="The public fp32 ONNX file.")
@click.option("--stock", type=click.Path(exists=True, path_type=Path), required=True, help="Its dynamic int8 file.")
@click.option("--pairs", default=LEAST_PAIRS, show_default=True)
@click.option("--seconds", default=0.6, show_default=True, help="Length of one block.")
def main(fp32: Path, stock: Path, pairs: int, seconds: float) -> None:
    """Texts a second of each engine and the ratios between them, for short and long texts, alone and in batches."""
    engines: dict[str, Encode] = {"native": native().encode, "fp32": runtime(fp32), "stock": runtime(stock)}
    check(engines)
    with watched() as noise:
        figures = {name: case(name, batches, engines, pairs, seconds) for name, batches in CASES.items()}
        threads = two_threads(pairs, seconds)
    figures["peak"] = {name: peak_share(name, pairs, seconds) for name in PEAK_CASES}
    settings = {"pairs": pairs, "seconds": seconds}
    record(Result("encoder", "one-thread", figures | {"two threads by one": threads}, settings, WARM_UP, [noise]))


WARM_UP = "one batch of each engine and case"


def check(engines: dict[str, Encode]) -> None:
    """Ends the run where the engines' vectors are not of one model, or a native one depends on its batch."""
    batch = CASES["mixed 8 to 128 tokens, batch 32"][0]
    vectors = {name: alone(encode)(batch) for name, encode in engines.items()}
    if not np.array_equal(engines["native"](batch), vectors["native"]):
        raise SystemExit("the native vectors depend on their batch")
    for name, least in LEAST_COSINE.items():
        if (cosine := float((vectors["native"] * vectors[name]).sum(1).min())) < least:
            raise SystemExit(f"native and {name} vectors differ: cosine {cosine:.4f}")


def case(
    name: str, batches: list[list[Tokens]], engines: dict[str, Encode], pairs: int, seconds: float
) -> dict[str, Any]:
    """Interleaved rates, and the ratios native / other: of a padded batch and one by one, the faster."""
    click.echo(name, err=True)
    rivals = {**engines, "fp32 alone": alone(engines["fp32"]), "stock alone": alone(engines["stock"])}
    if len(batches[0]) == 1 or len({len(text) for text in batches[0]}) == 1:
        rivals = engines
    for encode in rivals.values():
        encode(batches[0])
    blocks = [{rival: rate(encode, batches, seconds) for rival, encode in rivals.items()} for _ in range(pairs)]
    against = {kind: [ratio_block(block, kind) for block in blocks] for kind in ("fp32", "stock")}
    return {
        "texts_per_second": medians(blocks),
        "native_by": {kind: ratios(found)["texts"] for kind, found in against.items()},
    }


def ratio_block(block: dict[str, float], kind: str) -> tuple[dict[str, float], dict[str, float]]:
    """Native, and the faster of the rival's ways."""
    return {"texts": block["native"]}, {"texts": max(rate for name, rate in block.items() if name.startswith(kind))}


def rate(encode: Encode, batches: list[list[Tokens]], seconds: float) -> float:
    """Texts a second, for about `seconds`."""
    source, texts, begin = endless(batches), 0, time.perf_counter()
    while (now := time.perf_counter()) - begin < seconds:
        batch = next(source)
        encode(batch)
        texts += len(batch)
    return texts / (now - begin)


def two_threads(pairs: int, seconds: float) -> Any:
    """The ratio of two threads' rate to that of one."""
    encoder, batches = native(2), CASES[THREADED]
    blocks = [
        (
            {"texts": together(lambda: rate(encoder.encode, batches, seconds), 2)},
            {"texts": together(lambda: rate(encoder.encode, batches, seconds), 1)},
        )
        for _ in range(pairs)
    ]
    return ratios(blocks)["texts"]


def together(work: Callable[[], float], threads: int) -> float:
    """The sum of what `work` gives on each of `threads` at once."""
    found: list[float] = []
    running = [threading.Thread(target=lambda: found.append(work())) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(found)


def peak_share(name: str, pairs: int, seconds: float) -> Any:
    """The part of the register-only `vpdpbusd` rate that the linear steps alone come to, peak and encoder in turn."""
    batches, encoder = CASES[name], native()
    operations = 2 * PRODUCTS_PER_TOKEN * len(batches[0][0]) / 1e9
    blocks = []
    for _ in range(pairs):
        peak = measure_ceilings().int8_gops
        if peak is None:
            return None
        blocks.append(({"share": operations * rate(encoder.encode, batches, seconds)}, {"share": peak}))
    return ratios(blocks)["share"]


if __name__ == "__main__":
    main()
