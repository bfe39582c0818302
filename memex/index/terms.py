"""The keyword arm's view of a text, the same for memories and queries."""

import msgspec

from memex import _native


class Terms(msgspec.Struct, frozen=True, gc=False):
    """The terms of one text."""

    ids: list[int]
    """Distinct signed 32-bit term ids, ascending."""
    counts: list[int]
    """How often each occurs, 1 to 32,767."""

    @property
    def version(self) -> int:
        """Terms of another version are not comparable."""
        return _native.TERMS_VERSION


def tokenize(text: str) -> Terms:
    """Words, stemmed; Chinese, Japanese, Korean and Thai as characters and pairs. Blank text has no terms."""
    ids, counts = _native.tokenize(text)
    return Terms(ids=ids, counts=counts)
