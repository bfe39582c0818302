"""The keyword arm's view of a text, the same for memories and queries."""

from memex import _native
from memex.model import Terms

TERMS_VERSION = _native.TERMS_VERSION
"""Terms of another version are not comparable."""


def tokenize(text: str) -> Terms:
    """Words, stemmed; Chinese, Japanese, Korean and Thai as characters and pairs. Blank text has no terms."""
    ids, counts = _native.tokenize(text)
    return Terms(ids=ids, counts=counts)
