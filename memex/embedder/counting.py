"""How long texts are in tokens, for who has to keep within a number of them."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tokenizers import Tokenizer

from memex.embedder.chunks import INLINE_CHARACTERS, token_ids


class Counting:
    """Counts the tokens of texts. What the vocabulary lacks counts a token for each character.

    To the model a word that it does not know, of whatever length, is one token; to another one it is many.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """`tokenizer` must neither pad nor truncate."""
        self._tokenizer = tokenizer
        self._unknown = unknown_token(tokenizer)
        # Of its own: neither searches nor writes wait for what is only counted.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tokens-count")

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text by itself, without special ones and prefix. Many characters go to a thread."""
        if sum(map(len, texts)) <= INLINE_CHARACTERS:
            return self._counted(texts)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._counted, texts)

    def _counted(self, texts: Sequence[str]) -> list[int]:
        """One text after the other: a batch would take every core. Other threads run meanwhile."""
        return [self._length(text) for text in texts]

    def _length(self, text: str) -> int:
        ids = token_ids(self._tokenizer, text)
        if self._unknown not in ids:
            return len(ids)
        # Only this call, which is slower, says of which characters a token is.
        (encoding,) = self._tokenizer.encode_batch([text], add_special_tokens=False)
        places = zip(encoding.ids, encoding.offsets, strict=True)
        return sum(max(end - start, 1) if token == self._unknown else 1 for token, (start, end) in places)


def unknown_token(tokenizer: Tokenizer) -> int | None:
    """What stands for a word or character outside of the vocabulary; None where nothing is outside."""
    if hasattr(tokenizer.model, "unk_token"):
        name = tokenizer.model.unk_token
        found: int | None = None if name is None else tokenizer.token_to_id(name)
        return found
    described: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return described
