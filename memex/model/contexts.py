"""Contexts: the memories about a question as one text of bounded length, for the prompt of a language model."""

from typing import Annotated

import msgspec
from msgspec import Meta

from memex.model.fields import MAX_TOP_K
from memex.model.searches import Question

MIN_TOKENS = 64
MAX_TOKENS = 32_000
DEFAULT_TOKENS = 1_000


class ContextQuery(Question, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the text is to be about, and how long it may be: the fields of a search, and `max_tokens`."""

    top_k: Annotated[int, Meta(ge=1, le=MAX_TOP_K)] | None = None
    """The most memories to take. Left out: as many as fit, of the best 50."""
    max_tokens: Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS)] = DEFAULT_TOKENS
    """The most tokens of the whole text, by the tokenizer of the embedding model. Left out: 1,000."""


class Context(msgspec.Struct, frozen=True):
    """A text that can be put into a prompt as it is, and what it is made of."""

    text: str
    """A line that says what follows, then the memories, numbered, the best match first; empty where there is none."""
    ids: list[str]
    """Of the memories in the text, in the order of their numbers."""
    tokens: int
    """Of the text, by the tokenizer of the embedding model; a character that it does not know is a token too."""
    total: int
    """How many memories were found: those in the text and those left out."""
    left_out: int
    """How many of them had no room."""
    truncated: bool
    """Whether the one memory in the text is cut, after a word and with an ellipsis: even alone it had no room."""
