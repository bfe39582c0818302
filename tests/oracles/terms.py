"""The keyword arm's tokenizer without stemming, from its description and from nothing else."""

import re
import unicodedata
from collections import Counter

UNSPACED = re.compile("HIRAGANA|KATAKANA|CJK|HANGUL|THAI CHARACTER|BOPOMOFO|IDEOGRAPHIC")


def words_of(text: str) -> list[str]:
    """Every term of a text that the English stemmer leaves alone, in no particular order."""
    terms: list[str] = []
    for run in runs(unicodedata.normalize("NFKC", text).lower()):
        for unspaced, part in parts(run):
            if unspaced:
                terms += list(part) + [part[i : i + 2] for i in range(len(part) - 1)]
            elif any(c.isalnum() for c in part):
                terms.append(part)
    return terms


def counts_of(text: str) -> dict[int, int]:
    return dict(Counter(term_id(word) for word in words_of(text)))


def term_id(term: str) -> int:
    value = 0xCBF29CE484222325
    for byte in term.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    folded = (value >> 32) ^ (value % 2**32)
    return folded - 2**32 if folded >= 2**31 else folded


def runs(text: str) -> list[str]:
    return "".join(c if is_word(c) else " " for c in text).split(" ")


def is_word(c: str) -> bool:
    return c.isalnum() or unicodedata.category(c)[0] == "M" or unicodedata.category(c) == "Pc" or c in "\u200c\u200d"


def parts(run: str) -> list[tuple[bool, str]]:
    found: list[tuple[bool, str]] = []
    for c in run:
        mark = not c.isalnum() and c != "_"
        unspaced = bool(UNSPACED.match(unicodedata.name(c, "")))
        if found and (found[-1][0] == unspaced or mark):
            found[-1] = (found[-1][0], found[-1][1] + c)
        else:
            found.append((unspaced, c))
    return found
