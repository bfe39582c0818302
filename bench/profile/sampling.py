"""Runs a sampling program beside a load."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Sequence

import msgspec

READY_SECONDS = 30.0
LONGEST = 600.0

Work = Callable[[], Awaitable[None]]
"""The load, for as long as is sampled or a little longer."""


class Done(msgspec.Struct, frozen=True):
    """How a program ended."""

    failed: bool
    said: str
    """The last lines of what it wrote."""


async def sampled(command: Sequence[str], ready: bytes, work: Work) -> Done:
    """Does `work` from when the program says `ready`, at once where that is nothing; then waits for its end.

    A program that ends without having said it leaves the work undone.
    """
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout
    said = await until(process.stdout, ready) if ready else b""
    begun = ready in said
    if begun:
        _, rest = await asyncio.gather(work(), asyncio.wait_for(process.stdout.read(), LONGEST))
        said += rest
    last = said.decode(errors="replace").strip().splitlines()[-3:]
    return Done(not begun or bool(await process.wait()), "\n".join(last))


async def until(stream: asyncio.StreamReader, word: bytes) -> bytes:
    """Everything up to the line with `word`, or all that there is."""
    said = b""
    async with asyncio.timeout(READY_SECONDS):
        async for line in stream:
            said += line
            if word in line:
                break
    return said
