"""Our own sentences and their vectors by the public fp32 file: what every engine is held to.

python -m tests.oracles.golden FILE.onnx     writes the vectors anew
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bench.quality.fidelity import one_by_one, published
from memex.embedder.models import open_model

FOLDER = Path(__file__).parents[1] / "data" / "encoder"
VECTORS = FOLDER / "fp32.npy"
LENGTHS = (64, 256, 512)


def sentences() -> list[str]:
    """The texts with their prefixes, queries first."""
    return (FOLDER / "sentences.txt").read_text("utf-8").split("\n")[:-1]


def token_ids(tokenizer: Tokenizer) -> list[list[int]]:
    """Ids of each sentence, then of all of them as one text cut to three lengths up to the window."""
    whole = tokenizer.encode(" ".join(sentences())).ids
    windows = [[*whole[: length - 1], whole[-1]] for length in LENGTHS]
    return [encoding.ids for encoding in tokenizer.encode_batch(sentences())] + windows


def vectors() -> NDArray[np.float32]:
    """The fp32 vectors, in the order of `token_ids`."""
    return np.asarray(np.load(VECTORS), np.float32)


def main() -> None:
    """Embeds the sentences with the public file."""
    tokenizer = Tokenizer.from_file(str(open_model("e5-small-v2").tokenizer))
    np.save(VECTORS, one_by_one(published(Path(sys.argv[1])), token_ids(tokenizer)))


if __name__ == "__main__":
    main()
