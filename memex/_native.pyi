"""The compiled module of `native/`: exact fused ranking, text terms and the text encoder.

Every function raises ValueError for arguments that break what is said here, and RuntimeError for a
fault of its own. Objects may be used by several threads at once.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TypeAlias, final

from memex.model import Ranking

__all__ = ["TERMS_VERSION", "Encoder", "Loader", "SpaceIndex", "__version__", "build_info", "tokenize"]

__version__: str

TERMS_VERSION: int
"""Changes whenever a text may get other terms than before."""

_Row: TypeAlias = tuple[
    bytes,
    str,
    str,
    str,
    str,
    Sequence[str],
    str | None,
    str | None,
    bytes,
    float,
    int,
    int | None,
    Sequence[int],
    Sequence[int],
    Sequence[bytes],
]
_Hit: TypeAlias = tuple[bytes, float, float | None, float, float, float, float, int]

def build_info() -> dict[str, str]:
    """`version`, `profile` (release or debug), `target`, and the best instruction sets of this machine.

    `isa` is the one for the index, `encoder` the one for the encoder.
    """

def tokenize(text: str) -> tuple[list[int], list[int]]:
    """The terms of a text: distinct signed 32-bit ids, ascending, and how often each occurs, 1 to 32,767."""

@final
class Encoder:
    """A BERT encoder on the int8 weights of a model directory, for batches of texts of any lengths.

    A text's vector depends on the text alone, to the last bit; on the instruction set neither.
    """

    def __new__(cls, weights: str | PathLike[str], pooling: str, isa: str = "auto") -> Encoder:
        """Reads the file `weights`, about 0.1 s. `pooling`: mean or cls. `isa`: auto, scalar or avx512vnni.

        ValueError says what is wrong with the file. Lets other threads in, as `encode` does.
        """

    def encode(self, batch: Sequence[Sequence[int]]) -> bytes:
        """The vectors of texts one after another: `dimensions` little-endian f32 for each, of length 1.

        Texts are token ids below `vocabulary`, 1 to `window` of them. Where numbers overflow a vector is not finite.
        """

    @property
    def dimensions(self) -> int:
        """Components of a vector."""

    @property
    def window(self) -> int:
        """The most tokens of a text."""

    @property
    def vocabulary(self) -> int:
        """Ids are below this."""

    @property
    def isa(self) -> str:
        """The instruction set in use."""

    @property
    def bytes(self) -> int:
        """Memory of the model, in bytes."""

    @property
    def stream_bytes(self) -> int:
        """Memory of each call that runs at the same time as others, in bytes. It is kept for the next one."""

@final
class SpaceIndex:
    """All memories of one space.

    Readers never wait: each call sees the one state that was current when it began.
    """

    def __new__(cls, dimensions: int, isa: str = "auto") -> SpaceIndex:
        """Empty, for vectors of 1 to 4,096 dimensions. `isa`: auto, scalar, avx2 or avx512, if this machine runs it."""

    def apply(self, rows: Sequence[_Row], removed: Sequence[bytes]) -> None:
        """Take `removed` ids out, then put `rows` in, each in place of the row of the same id; all in one step.

        A row is the fields of `memex.model.IndexRow` in their order. Applying the same again changes nothing.
        """

    def compact(self) -> None:
        """Join small parts and drop rows that are gone. Others read and write meanwhile; one at a time compacts."""

    def rank(self, ranking: Ranking) -> list[_Hit]:
        """The exact best k, best first. In semantic mode terms are not looked at.

        A hit: id, score, cosine, lexical, relevance, recency, importance, duplicates.
        """

    def rank_all(self, rankings: Sequence[Ranking]) -> list[list[_Hit] | Exception]:
        """What `rank` gives for each, or its error; all from one walk over one state."""

    @property
    def fragmented(self) -> bool:
        """Whether `compact` has something to do."""

    def again(self, ranking: Ranking) -> list[_Hit] | None:
        """The answer of `rank` to a question that was asked before of the same state, if it is kept and certain.

        A ranking of what is asked here again keeps its answer. Raise ValueError for a faulty request.
        """

    @property
    def work(self) -> tuple[int, int]:
        """Rows that all rankings together compared, and those of them that they scored in full."""

    @property
    def dimensions(self) -> int:
        """Components of a vector."""

    @property
    def isa(self) -> str:
        """The instruction set in use."""

    @property
    def rows(self) -> int:
        """How many rows are held, archived and expired ones included."""

    @property
    def bytes(self) -> int:
        """Memory that the index takes, in bytes."""

@final
class Loader:
    """Fills a new index from PostgreSQL's streams. Both methods let other threads in."""

    def __new__(cls, index: SpaceIndex) -> Loader:
        """Nobody else may change `index` meanwhile."""

    def feed(self, data: bytes) -> None:
        """Take the next piece; its borders may be anywhere. After a fault nothing is taken any more.

        Pieces make up pairs of streams of `COPY … (FORMAT binary)`: memories by ascending id with the fields of
        `memex.model.IndexRow` but the last, then the vectors of these, as memory id and `halfvec`, in the same order.
        """

    def finish(self) -> None:
        """Put in what is left. A stream that did not end, or came without its other half, is a fault."""
