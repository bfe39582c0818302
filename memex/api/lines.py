"""A body as a stream of lines: of however many, no more than one and what came with it is in memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from litestar.exceptions import HTTPException

from memex.api.bodies import BODY_SECONDS, ClientGone

MOST_LINE_BYTES = 256 * 1024
"""Above any valid item: 8,000 characters as escapes, metadata of 16 KiB, a vector of 4,096 components."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark that some editors put at the beginning."""


async def lines(receive: Any) -> AsyncIterator[tuple[int, bytes | None]]:
    """Each line that is not blank with its number from 1; None for one that is too long.

    Raises ClientGone, and 408 where nothing more comes for as long as a whole body may take.
    """
    number, rest, cut = 1, b"", False
    async for piece in pieces(receive):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line := bare(line, number):
                yield number, None if cut or len(line) > MOST_LINE_BYTES else line
            number, cut = number + 1, False
        if len(rest) > MOST_LINE_BYTES:
            rest, cut = b"x", True  # not blank: the end of a line that is too long says no more
    if line := bare(rest, number):
        yield number, None if cut or len(line) > MOST_LINE_BYTES else line


def bare(line: bytes, number: int) -> bytes:
    """Without white space around it."""
    return (line.removeprefix(MARK) if number == 1 else line).strip()


async def pieces(receive: Any) -> AsyncIterator[bytes]:
    """The body as it comes."""
    more = True
    while more:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(status_code=408) from error
        if message["type"] != "http.request":
            raise ClientGone
        yield message.get("body", b"")
        more = bool(message.get("more_body"))
