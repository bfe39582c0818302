"""From text to the token sequences that the model reads: prefix, special tokens, overlapping chunks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from tokenizers import Tokenizer

from memex.embedder.encoder import Role, Tokens
from memex.embedder.models import Card
from memex.errors import Invalid, ModelDamaged, Problem

MAX_CHUNKS = 32
OVERLAP = 64
# Up to 10 µs a character for the worst scripts: longer texts go to a thread, so that the event loop goes on.
INLINE_CHARACTERS = 256
# What no vocabulary holds as a whole: some tokenizers fail at words that they do not know.
STRANGE = "a \ue000 \U0001f5ff qzxv"
FIELDS = {Role.QUERY: "query", Role.PASSAGE: "content"}


class Frame:
    """What surrounds the tokens of a text in one role, and how many of them fit between."""

    def __init__(self, head: list[int], tail: list[int], window: int) -> None:
        """`head` = opening special tokens and prefix, `tail` = closing ones. Raises ModelDamaged without room."""
        self.head = head
        self.tail = tail
        self.capacity = window - len(head) - len(tail)
        if self.capacity < 2:
            raise ModelDamaged("The model's window has no room for text beside its prefix.")
        self.overlap = min(OVERLAP, self.capacity // 2)

    def chunks(self, ids: list[int]) -> list[Tokens]:
        """Every token of a text, each in a chunk that also begins and ends as the model expects."""
        return [self.head + ids[start:end] + self.tail for start, end in spans(len(ids), self.capacity, self.overlap)]

    @property
    def most(self) -> int:
        """The most tokens of a text that MAX_CHUNKS hold."""
        return self.capacity + (MAX_CHUNKS - 1) * (self.capacity - self.overlap)


class Chunks:
    """Turns texts into chunks of at most the model's window. Nothing is cut off."""

    def __init__(self, tokenizer: Tokenizer, card: Card) -> None:
        """`tokenizer` must neither pad nor truncate, as `open_tokenizer` gives it."""
        self.tokenizer = tokenizer
        opening, closing = special_tokens(tokenizer)
        prefixes = {Role.QUERY: card.query_prefix, Role.PASSAGE: card.passage_prefix}
        self._frames = {
            role: Frame(opening + tokenizer.encode(prefix, add_special_tokens=False).ids, closing, card.window)
            for role, prefix in prefixes.items()
        }
        # A thread each: long searches do not wait for the tokens of long writes.
        self._threads = {role: ThreadPoolExecutor(1, thread_name_prefix=f"tokens-{role}") for role in Role}

    async def split(self, role: Role, text: str) -> list[Tokens]:
        """One chunk, or several that overlap. Raises Invalid where more than MAX_CHUNKS would be needed."""
        if len(text) <= INLINE_CHARACTERS:
            ids = token_ids(self.tokenizer, text)
        else:
            loop = asyncio.get_running_loop()
            ids = await loop.run_in_executor(self._threads[role], token_ids, self.tokenizer, text)
        frame = self._frames[role]
        if len(ids) > frame.most:
            raise Invalid([too_long(role, text, len(ids), frame.most)])
        return frame.chunks(ids)


def open_tokenizer(file: Path) -> Tokenizer:
    """Without the padding and truncation that a file may carry. Raises ModelDamaged."""
    try:
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.encode(STRANGE)
    except Exception as error:  # the library raises no narrower class
        raise ModelDamaged(f"{file.name} is not a tokenizer for any text: {error}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def token_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a text alone, without special ones.

    By the call for batches, the only one that lets other threads run, and the fastest for one text too.
    """
    ids: list[int] = tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids
    return ids


def special_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after a text of its own, such as [CLS] and [SEP]."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    whole = tokenizer.encode("a").ids
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return whole[:start], whole[start + len(bare) :]
    raise ModelDamaged("The model's tokenizer changes a text when it adds special tokens.")


def spans(length: int, capacity: int, overlap: int) -> list[tuple[int, int]]:
    """Half-open ranges that cover `length` tokens: each at most `capacity`, each next one starting `overlap` back.

    As few as can be, and of one length within a token: the best chunk counts, and a short rest of a text is nearer to
    any question than its full chunks are. An empty text is one empty range. Needs 0 <= overlap < capacity.
    """
    count = max(1, -(-(length - overlap) // (capacity - overlap)))
    ends = [overlap + (length - overlap) * number // count for number in range(count + 1)]
    return [(end - overlap, after) for end, after in pairwise(ends)]


def too_long(role: Role, text: str, tokens: int, most: int) -> Problem:
    """The one limit that a text within its length in characters can still meet."""
    return Problem(
        type="string_too_long",
        loc=("body", FIELDS[role]),
        msg=f"Text has {tokens} tokens of the embedding model; at most {most} fit in {MAX_CHUNKS} chunks",
        input=text,
    )
