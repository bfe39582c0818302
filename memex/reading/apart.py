"""A JSON list cut into its items by its brackets and commas alone, where one of them is too deep for any reader."""

import asyncio
import re
from itertools import pairwise

# A string, closed or not, so that none is looked at twice; brackets that follow one another are one mark.
MARKS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+|,', re.DOTALL)
DEEPEST = 64
"""Levels; no valid item has so many."""
TURN = 4_096
"""Marks after which others have their turn."""


async def apart(raw: bytes) -> list[bytes]:
    """The items, whatever each is; none where this is no list, or nothing in it is deeper than any valid item."""
    if not raw.lstrip().startswith(b"["):
        return []
    cuts, depth, deepest = [raw.index(b"[")], 0, 0
    for number, mark in enumerate(MARKS.finditer(raw)):
        if number % TURN == TURN - 1:
            await asyncio.sleep(0)
        depth += rise(mark[0])
        deepest = max(deepest, depth)
        if depth == 1 and mark[0] == b",":
            cuts.append(mark.start())
        elif depth < 1:
            whole = depth == 0 and deepest > DEEPEST and not raw[mark.end() :].strip()
            ends = [*cuts, mark.end() - 1]
            return [raw[start + 1 : end].strip() for start, end in pairwise(ends)] if whole else []
    return []


def rise(mark: bytes) -> int:
    """By how many levels a mark goes down into the list, or up again."""
    if mark[0] in b"[{":
        return len(mark)
    return -len(mark) if mark[0] in b"]}" else 0
