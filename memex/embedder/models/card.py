"""What a model says about itself: the content of `model.json`."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
# A plain file name: a card cannot point outside its own directory.
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
Cosine = Annotated[float, Meta(ge=-1.0, le=1.0)]


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model: how texts go in, what comes out, and the bytes that do it."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    revision: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    """Made from the digests of the files, so it changes with any byte of them."""
    dimensions: Annotated[int, Meta(ge=1, le=4096)]
    pooling: Literal["mean", "cls"]
    """How token vectors become one. A graph whose output has two axes has done it, and normalised, already."""
    window: Annotated[int, Meta(ge=8, le=65_536)]
    """The most tokens of one text, special tokens and prefix included."""
    query_prefix: str
    passage_prefix: str
    floor: Cosine
    """The cosine of unrelated texts; it counts as relevance 0."""
    ceiling: Cosine
    """The cosine that counts as relevance 1."""
    licence: str
    files: dict[FileName, Digest]
    provenance: dict[str, str]
    """Where the weights come from and what made these files."""

    @property
    def id(self) -> str:
        """Name and revision: vectors of one id are comparable, others are not."""
        return f"{self.name}@{self.revision}"


def revision(files: Mapping[str, str]) -> str:
    """The first 16 hex digits of the SHA-256 over `name digest` lines, in the order of names."""
    lines = "".join(f"{name} {files[name]}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def decode(data: bytes) -> Card:
    """The card in `data`, which is JSON. Raises msgspec.MsgspecError where it is not one."""
    return msgspec.json.decode(data, type=Card)


def encode(card: Card) -> bytes:
    """The card as indented JSON with a final newline; equal cards are equal bytes."""
    return msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n"
