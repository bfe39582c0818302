"""Where a list goes on, as text: opaque, and good for the same conditions only."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import blake2b
from struct import Struct

import msgspec

from memex.errors import Invalid, Problem
from memex.model import ListQuery, Position, microseconds

VERSION = 1
BODY = Struct(">Bq16s")
DIGEST_BYTES = 12
# Beyond these no memory is, and PostgreSQL has no times for all that eight bytes can say.
TIMES = range(microseconds(datetime.min.replace(tzinfo=UTC)), microseconds(datetime.max.replace(tzinfo=UTC)) + 1)
# What may differ from page to page.
FREE = {"limit": 1, "cursor": None}


def written(query: ListQuery, position: Position) -> str:
    """The cursor of a position in the list of `query`."""
    body = BODY.pack(VERSION, *position)
    return urlsafe_b64encode(body + digest(query, body)).decode().rstrip("=")


def read(query: ListQuery) -> Position | None:
    """The position of the query's cursor, None where it has none. Raises Invalid."""
    if query.cursor is None:
        return None
    try:
        raw = urlsafe_b64decode(query.cursor + "=" * (-len(query.cursor) % 4))
    except (binascii.Error, ValueError):
        raw = b""
    body = raw[: BODY.size]
    # Written anew it must be the same text: base64 has several for the same bytes.
    if len(raw) == BODY.size + DIGEST_BYTES and body[0] == VERSION and raw == body + digest(query, body):
        position = Position(*BODY.unpack(body)[1:])
        if position.created_at in TIMES and written(query, position) == query.cursor:
            return position
    raise Invalid([refusal(query.cursor)])


def digest(query: ListQuery, body: bytes) -> bytes:
    """Ties a cursor to the conditions of its list. It keeps mistakes out; it is no secret."""
    conditions = msgspec.json.encode(msgspec.structs.replace(query, **FREE))
    return blake2b(body, digest_size=DIGEST_BYTES, key=blake2b(conditions).digest()).digest()


def refusal(cursor: str) -> Problem:
    """Of a cursor that is none of ours, or of another list."""
    message = "Value error, a cursor is next_cursor of the page before, asked with the same conditions"
    return Problem(type="value_error", loc=("query", "cursor"), msg=message, input=cursor)
