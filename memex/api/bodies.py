"""Request bodies: decoded fast when they are right, walked as plain JSON to name every fault when they are not.

The decoder takes exact JSON types only. All that it refuses goes to the walker, which coerces as the
reference did; if that finds nothing wrong, its struct is the answer. Of a repeated name the last one counts, but where
conditions are: one of two would be lost, and more found or deleted than was meant.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import msgspec
from litestar.exceptions import HTTPException

from memex.errors import Invalid, UnsupportedMedia
from memex.model import ContextQuery, RemovalQuery, SearchQuery
from memex.reading.faults import Faults
from memex.reading.fields import BAD, Nullable, Text
from memex.reading.plain import BODY, parsed
from memex.reading.repeats import has_repeats, once, refuse_repeats
from memex.reading.rules import RULES
from memex.reading.shapes import record

T = TypeVar("T")

# JSON text can hold a NUL only in this form; it may be an escaped backslash before u0000, which the walker knows.
NUL = b"\\u0000"
# What a body with conditions has in it.
CONDITIONS: dict[type[Any], bytes] = {SearchQuery: b'"filters"', ContextQuery: b'"filters"', RemovalQuery: b""}
PLAIN_JSON = b"application/json"
COMPRESSED = "The request body must come as it is: without Content-Encoding."
BODY_SECONDS = 30.0
"""A body must be complete in this time: while it is not, its request takes one of the places in work."""


class ClientGone(Exception):
    """The client left before its request was complete."""


class Reader(Generic[T]):
    """Reads one kind of body."""

    def __init__(self, struct: type[T], *, lenient: bool = False) -> None:
        """`lenient` drops unknown fields instead of refusing them."""
        self._decoder = msgspec.json.Decoder(struct)
        self._record = record(struct, lenient=lenient)
        self._rule = RULES[struct]
        self._mark = CONDITIONS.get(struct)
        kinds = {m.name: m.field.inner if isinstance(m.field, Nullable) else m.field for m in self._record.members}
        self._texts = tuple(name for name, field in kinds.items() if isinstance(field, Text))

    def read(self, raw: bytes) -> T:
        """The struct, ready for the service. Raises Invalid with every fault."""
        try:
            struct = self._decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self.walk(raw)
        if NUL in raw or self._blank(struct) or (self._narrows(raw) and has_repeats(raw)):
            return self.walk(raw)
        faults = Faults()
        settled: T = self._rule(struct, BODY, faults)
        return self.walk(raw) if faults.problems else settled  # the walker knows each value as it was sent

    def collect(self, raw: bytes, faults: Faults) -> T:
        """The struct, good only if no fault was added; for routes whose faults may also be elsewhere."""
        try:
            return self.read(raw)
        except Invalid as error:
            faults.extend(error.problems)
            unread: T = BAD
            return unread

    def walk(self, raw: bytes) -> T:
        """The same by the slow path alone, which reads leniently what the decoder refuses. Raises Invalid."""
        unread, narrows = Faults(), self._narrows(raw)
        body = parsed(raw, unread, once if narrows else None)
        if unread.problems:
            raise Invalid(unread.problems)
        faults = Faults(body)
        if narrows:
            refuse_repeats(body, BODY, faults)
        draft = self._record.read(body, BODY, faults)
        settled: T = BAD if draft is BAD else self._rule(draft, BODY, faults)
        if faults.problems:
            raise Invalid(faults.problems)
        return settled

    def _narrows(self, raw: bytes) -> bool:
        return self._mark is not None and self._mark in raw

    def _blank(self, struct: T) -> bool:
        for name in self._texts:
            text = getattr(struct, name)
            if text and text.isspace():
                return True
        return any(tag.isspace() for tag in getattr(struct, "tags", ()) or ())


def check_media(headers: Iterable[tuple[bytes, bytes]], forms: str = "") -> None:
    """Raises UnsupportedMedia unless the body is declared as plain JSON in UTF-8, or not declared at all.

    `forms` says which a route takes, if others too.
    """
    for name, value in headers:
        if name == b"content-type" and value != PLAIN_JSON and not is_json(value.decode("latin-1")):
            raise UnsupportedMedia(forms)
        if name == b"content-encoding":
            check_coding(value)


def check_coding(declared: bytes) -> None:
    """Raises UnsupportedMedia for a body that is compressed: how large it would become nobody has said."""
    if declared.strip().lower() not in (b"", b"identity"):
        raise UnsupportedMedia(COMPRESSED)


def is_json(declared: str) -> bool:
    """`application/json`, or a type built on it, without a charset other than UTF-8."""
    kind, *parameters = [part.strip().lower() for part in declared.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    named = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    return named and all(charset in ("utf-8", "utf8", "us-ascii") for charset in charsets)


async def received(receive: Any) -> bytes:
    """The whole body. Raises ClientGone, BodyTooLarge (from the door), and 408 for one that comes too slowly."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await whole(receive)
    except TimeoutError as error:
        raise HTTPException(status_code=408) from error


async def whole(receive: Any) -> bytes:
    """All pieces of the body. Raises ClientGone if the client leaves before the last one."""
    message = await receive()
    chunks: list[bytes] = []
    while message["type"] == "http.request":
        if not message.get("more_body"):
            body: bytes = message.get("body", b"")
            return b"".join([*chunks, body]) if chunks else body
        chunks.append(message.get("body", b""))
        message = await receive()
    raise ClientGone
