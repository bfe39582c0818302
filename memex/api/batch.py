"""POST /v1/memories/batch: many memories by one request, as a JSON list or as a stream of lines."""

import asyncio
import json as plain_json
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from litestar.types import ASGIApp
from msgspec import UNSET, Meta, UnsetType

from memex.api.bodies import Reader, check_coding, check_media, received
from memex.api.door import is_lines
from memex.api.examples import MEMORY, NEW, OF_TEXT
from memex.api.keys import KEYED, REPLAYED, key_of, told
from memex.api.lines import MOST_LINE_BYTES, lines
from memex.api.replies import json
from memex.api.routes import LINES, Answer, Connection, Operation, Route
from memex.errors import IdempotencyConflict, Invalid, Problem
from memex.model import MAX_BATCH, MAX_STREAMED, BatchItem, BatchResult, NewMemory
from memex.reading.apart import apart
from memex.reading.faults import WIDEST, Faults
from memex.reading.fields import is_count
from memex.reading.plain import BODY, parsed
from memex.service import Services

TURN_BYTES = 32 * 1024
"""Of items that are read in a row, which may take 20 ms: then others have their turn."""

Items = Annotated[list[NewMemory], Meta(max_length=MAX_BATCH)]
FORMS = (
    "The request body must be a list as JSON, with Content-Type: application/json, or a memory as JSON on each line, "
    f"with Content-Type: {LINES}."
)
STORED = {
    "stored": 1,
    "duplicate": 0,
    "invalid": 0,
    "failed": 0,
    "items": [{"index": 0, "status": "stored", "id": MEMORY["id"], "errors": []}],
}

BATCH = Operation(
    method="POST",
    path="/v1/memories/batch",
    name="store_memories",
    summary="Store many memories",
    text=(
        f"A list of at most {MAX_BATCH:,}, or with `Content-Type: {LINES}` a stream of one a line: at most "
        f"{MAX_STREAMED:,} lines of {MOST_LINE_BYTES // 1024} KiB, blank ones skipped, stored while they come. What is "
        "wrong with one item is no matter to the others, and each is durable that the answer says is stored. Items "
        "with an `external_id` can be sent again; with a key all can, which stands for each item by its index, and an "
        "item that was another one then is invalid (409 where each was). For the rate limit a batch is one write of "
        "each agent in it. Where no item could be stored for want of the service, that is the answer."
    ),
    headers=KEYED,
    body=Items,
    example=[NEW],
    streamed=True,
    answers=(Answer(200, "What became of each item.", BatchResult, example=STORED, headers=REPLAYED),),
    errors=(IdempotencyConflict, *OF_TEXT),
)


def routes(services: Services, *, lenient: bool) -> list[Route]:
    """The route; `lenient` drops unknown fields."""
    reader = Reader(NewMemory, lenient=lenient)

    async def handle(request: Connection) -> ASGIApp:
        faults = Faults()
        key = key_of(request.scope["headers"], faults)
        if faults.problems:
            raise Invalid(faults.problems)
        declared = dict(request.scope["headers"])
        if is_lines(declared.get(b"content-type", b"")):
            check_coding(declared.get(b"content-encoding", b""))
            items = streamed(request.receive, reader)
        else:
            check_media(request.scope["headers"], FORMS)
            items = listed(await elements(await received(request.receive)), reader)
        done = await services.batches.run(items, key)
        return json(200, done.result, *told(done.replayed))

    return [Route(BATCH, handle)]


async def elements(raw: bytes) -> list[bytes]:
    """The items of a list, each as JSON. Raises Invalid where it is none, or too long."""
    faults = Faults()
    try:
        found = [bytes(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = await apart(raw) or leniently(raw, faults)
    if len(found) > MAX_BATCH:
        is_count(len(found), 0, MAX_BATCH, BODY, faults, [parsed(item, Faults()) for item in found[:WIDEST]])
    if faults.problems:
        raise Invalid(faults.problems)
    return found


def leniently(raw: bytes, faults: Faults) -> list[bytes]:
    """JSON that only the lenient reader takes, such as NaN in one of the items."""
    values = parsed(raw, faults)
    if not faults.problems and not isinstance(values, list):
        faults.add("list_type", BODY, "Input should be a valid list", values)
    return [] if faults.problems else [plain_json.dumps(value).encode() for value in values]


class Turns:
    """Lets others go on between the items of one batch, which come faster than they are read."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._read = 0

    async def after(self, size: int) -> None:
        """An item of so many bytes was read."""
        self._read += size
        if self._read >= TURN_BYTES:
            self._read = 0
            await asyncio.sleep(0)


async def listed(found: list[bytes], reader: Reader[NewMemory]) -> AsyncIterator[BatchItem]:
    """The items of a list."""
    turns = Turns()
    for index, raw in enumerate(found):
        yield item(index, UNSET, raw, reader)
        await turns.after(len(raw))


async def streamed(receive: Any, reader: Reader[NewMemory]) -> AsyncIterator[BatchItem]:
    """The items of a stream, as they come."""
    index, turns = 0, Turns()
    async for number, raw in lines(receive):
        if index == MAX_STREAMED:
            message = f"A stream has at most {MAX_STREAMED:,} items: this one and all after it were not read"
            yield BatchItem(index, number, None, [Problem("too_long", BODY, message)])
            return
        if raw is None:
            message = f"A line has at most {MOST_LINE_BYTES:,} bytes"
            yield BatchItem(index, number, None, [Problem("too_long", BODY, message)])
        else:
            yield item(index, number, raw, reader)
            await turns.after(len(raw))
        index += 1


def item(index: int, line: int | UnsetType, raw: bytes, reader: Reader[NewMemory]) -> BatchItem:
    """One item, read."""
    try:
        return BatchItem(index, line, reader.read(raw))
    except Invalid as error:
        return BatchItem(index, line, None, error.problems)
