"""Which script a text is written in, which scripts a model's tokenizer can read, and a word when too many differ.

A tokenizer reads a script if it keeps that script's words together. Measured on one plain sentence of each
(`models/sentences/scripts.tsv`): letters outside unknown tokens, for each token. The vocabulary of e5-small-v2 gets
3.8 for Latin and at most 1.2 for any other: of Russian it sees single letters, of Chinese half the characters. Search
by meaning follows (NDCG@10 on XQuAD): English 97, Spanish 85, Chinese 48, Russian 41.
"""

import logging
import unicodedata
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec
from tokenizers import Tokenizer

from memex.metrics import Metrics

log = logging.getLogger("memex")

SENTENCES = Path(__file__).parent / "models" / "sentences" / "scripts.tsv"
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
LATIN, CHINESE, JAPANESE, KOREAN, OTHER = "latin", "chinese", "japanese", "korean", "other"
KANA, NO_LETTER = "kana", ""
# Letters a token: less than this is spelling, not reading. A character of the latter three is a word or a syllable.
LEAST_LETTERS = 1.5
LEAST_CHARACTERS = 0.8
BY_CHARACTER = frozenset({CHINESE, JAPANESE, KOREAN})
SAMPLE = 16
"""Fewer characters of a text than twice this are looked at."""
WINDOW = 1000
LEAST_TEXTS = 20
"""So many texts must have come before their share means anything."""
TOO_MANY = 0.2

# First code point of each run of letters → script, as the blocks of Unicode 16 lie; NO_LETTER ends a run.
STARTS = {
    0x0000: NO_LETTER, 0x0041: LATIN, 0x005B: NO_LETTER, 0x0061: LATIN, 0x007B: NO_LETTER, 0x00C0: LATIN,
    0x02B0: NO_LETTER, 0x0370: "greek", 0x0400: "cyrillic", 0x0530: "armenian", 0x0590: "hebrew", 0x0600: "arabic",
    0x0700: OTHER, 0x0750: "arabic", 0x0780: OTHER, 0x08A0: "arabic", 0x0900: "devanagari", 0x0980: "bengali",
    0x0A00: "gurmukhi", 0x0A80: "gujarati", 0x0B00: "odia", 0x0B80: "tamil", 0x0C00: "telugu", 0x0C80: "kannada",
    0x0D00: "malayalam", 0x0D80: "sinhala", 0x0E00: "thai", 0x0E80: "lao", 0x0F00: OTHER, 0x1000: "myanmar",
    0x10A0: "georgian", 0x1100: KOREAN, 0x1200: "ethiopic", 0x13A0: OTHER, 0x1780: "khmer", 0x1800: OTHER,
    0x1C80: "cyrillic", 0x1C90: "georgian", 0x1CC0: OTHER, 0x1CD0: NO_LETTER, 0x1D00: LATIN, 0x1DC0: NO_LETTER,
    0x1E00: LATIN, 0x1F00: "greek", 0x2000: NO_LETTER, 0x2C00: OTHER, 0x2C60: LATIN, 0x2C80: OTHER,
    0x2D00: "georgian", 0x2D30: OTHER, 0x2D80: "ethiopic", 0x2DE0: "cyrillic", 0x2E00: NO_LETTER, 0x3041: KANA,
    0x3100: CHINESE, 0x3130: KOREAN, 0x3190: NO_LETTER, 0x31F0: KANA, 0x3200: NO_LETTER, 0x3400: CHINESE,
    0x4DC0: NO_LETTER, 0x4E00: CHINESE, 0xA000: OTHER, 0xA640: "cyrillic", 0xA6A0: OTHER, 0xA720: LATIN, 0xA800: OTHER,
    0xA8E0: "devanagari", 0xA900: OTHER, 0xA960: KOREAN, 0xA980: OTHER, 0xAA60: "myanmar", 0xAA80: OTHER,
    0xAB00: "ethiopic", 0xAB30: LATIN, 0xAB70: OTHER, 0xAC00: KOREAN, 0xD7FC: NO_LETTER, 0xF900: CHINESE,
    0xFB00: LATIN, 0xFB13: "armenian", 0xFB1D: "hebrew", 0xFB50: "arabic", 0xFE00: NO_LETTER, 0xFE70: "arabic",
    0xFEFF: NO_LETTER, 0xFF21: LATIN, 0xFF3B: NO_LETTER, 0xFF41: LATIN, 0xFF5B: NO_LETTER, 0xFF66: KANA,
    0xFFA0: KOREAN, 0xFFDD: NO_LETTER, 0x10280: OTHER, 0x1D000: NO_LETTER, 0x1E000: OTHER, 0x1F000: NO_LETTER,
    0x20000: CHINESE, 0x323B0: NO_LETTER,
}  # fmt: skip
FIRSTS, NAMES = list(STARTS), list(STARTS.values())


class Unread(msgspec.Struct, frozen=True):
    """How many of some texts are in scripts that the model does not know."""

    share: float
    """Of all texts that were looked at."""
    script: str
    """The most frequent of those scripts, empty if there is none."""

    def __str__(self) -> str:
        """For people."""
        return (
            f"{self.share:.0%} are in scripts that the model cannot read, most of them {self.script.capitalize()}: "
            "search by meaning finds little there. 'Other models' in the README says how to take another model."
        )


class Scripts:
    """The scripts of the last WINDOW texts that were embedded. Costs some microseconds a text; for one event loop."""

    def __init__(self, known: frozenset[str], metrics: Metrics) -> None:
        """`known` is what `known_scripts` says of the model's tokenizer."""
        self._known = known
        self._recent: deque[str] = deque(maxlen=WINDOW)
        self._unread = 0
        self._gauge = metrics.unread_share
        self._told = False

    def see(self, text: str) -> None:
        """Counts a text, and says in the log, once, when more than TOO_MANY of the recent ones cannot be read."""
        before = self._unread
        if len(self._recent) == WINDOW:
            self._unread -= self._recent[0] not in self._known
        script = script_of(text)
        self._recent.append(script)
        self._unread += script not in self._known
        if before or self._unread:
            self._judge(self._unread / len(self._recent))

    def _judge(self, share: float) -> None:
        self._gauge.set(share)
        if share > TOO_MANY and len(self._recent) >= LEAST_TEXTS and not self._told:
            self._told = True
            log.warning("of the last %d texts, %s", len(self._recent), unread(self._recent, self._known))


def unread(scripts: Iterable[str], known: frozenset[str]) -> Unread:
    """What part of these scripts, one a text, is not among the known ones."""
    counts = Counter(scripts)
    others = {script: texts for script, texts in counts.items() if script not in known}
    share = sum(others.values()) / max(counts.total(), 1)
    return Unread(share, max(others, key=others.__getitem__, default=""))


def script_of(text: str) -> str:
    """The script of most of a text's letters, from a sample; Latin where there are none. Kana make it Japanese."""
    if text.isascii():
        return LATIN
    found = [script for c in text[:: len(text) // SAMPLE + 1] if (script := script_at(c))]
    if KANA in found:
        found = [JAPANESE if script in (KANA, CHINESE) else script for script in found]
    return max(set(found), key=found.count, default=LATIN)


@lru_cache(maxsize=8192)
def script_at(character: str) -> str:
    """The script of one character, NO_LETTER for digits and marks of all scripts."""
    return NAMES[bisect_right(FIRSTS, ord(character)) - 1]


def known_scripts(tokenizer: Tokenizer) -> frozenset[str]:
    """The scripts that a tokenizer can read, of those with a sentence; others are read by no encoder in wide use.

    A vocabulary of bytes or single letters carries none of them far enough and loses nothing of any: it reads all.
    """
    lines = SENTENCES.read_text("utf-8").splitlines()
    carried = {
        script: letters_carried(tokenizer, sentence) for script, _, sentence in (x.partition("\t") for x in lines)
    }
    known = frozenset(script for script, letters in carried.items() if letters >= least(script))
    return frozenset(carried) if not known and min(carried.values()) > 0 else known


def least(script: str) -> float:
    """The letters a token of a script that counts as known."""
    return LEAST_CHARACTERS if script in BY_CHARACTER else LEAST_LETTERS


def letters_carried(tokenizer: Tokenizer, text: str) -> float:
    """Letters and vowel signs that do not vanish in unknown tokens, for each token."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    spans = zip(encoding.tokens, encoding.offsets, strict=True)
    lost = {place for token, span in spans if token in UNKNOWN_TOKENS for place in range(*span)}
    kept = sum(unicodedata.category(c)[0] in "LM" for place, c in enumerate(text) if place not in lost)
    return kept / max(len(encoding.ids), 1)
