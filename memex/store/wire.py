"""Values in PostgreSQL's binary form, both ways. Lists go as one piece of bytes, without work per element in Python."""

from array import array
from collections.abc import Sequence
from datetime import datetime
from struct import Struct
from sys import byteorder
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from psycopg.adapt import Buffer, Dumper, Loader, PyFormat
from psycopg.pq import Format

from memex.model import microseconds

BOOL, BYTEA, INT8, INT2, INT4, TEXT, JSONB, TIMESTAMPTZ, UUID = 16, 17, 20, 21, 23, 25, 3802, 1184, 2950
FLOAT4, FLOAT8 = 700, 701
BOOLS, INT2S, INT4S, FLOAT4S, TEXTS, UUIDS, JSONPATH = 1000, 1005, 1007, 1021, 1009, 2951, 4072

EPOCH_MICROSECONDS = 946_684_800_000_000
"""From 1970 to PostgreSQL's zero."""

ARRAY = Struct(">iiIii")  # dimensions, has nulls, type of the elements, length, first index
LENGTH = Struct(">i")
FIELD = Struct(">Ii")  # type, length
HALFVEC = Struct(">hh")  # dimensions, unused
ELEMENTS = {code: np.dtype([("size", ">i4"), ("value", f">{code}")]) for code in ("h", "i", "f")}
NULL = LENGTH.pack(-1)
UUID_LENGTH = LENGTH.pack(16)
DOUBLE = Struct(">d")
BIGINT = Struct(">q")
SMALLINT = Struct(">h")
JSON_VERSION = b"\x01"
HEAD = ARRAY.size + LENGTH.size


class Oids(NamedTuple):
    """The types whose numbers differ from database to database."""

    halfvec: int
    halfvecs: int
    new_memory: int
    new_memories: int
    memory_change: int
    memory_changes: int
    request_key: int
    request_keys: int


class Wire:
    """A parameter that is encoded already."""

    __slots__ = ("data", "oid")

    def __init__(self, oid: int, data: bytes | None) -> None:
        """`data` is what the type's receive function takes; None is null."""
        self.oid = oid
        self.data = data


class WireDumper(Dumper):
    """Hands a `Wire` through; one dumper per type."""

    format = Format.BINARY

    def get_key(self, obj: Wire, format: PyFormat) -> Any:
        """What psycopg keeps dumpers by."""
        return (Wire, obj.oid)

    def upgrade(self, obj: Wire, format: PyFormat) -> Self:
        """The dumper for this value's type."""
        dumper = type(self)(Wire, self.connection)
        dumper.oid = obj.oid
        return dumper

    def dump(self, obj: Wire) -> Buffer | None:
        """The bytes as they are."""
        return obj.data


class HalfvecsLoader(Loader):
    """`halfvec[]` → list of little-endian f16 bytes, all of one length."""

    format = Format.BINARY

    def load(self, data: Buffer) -> list[bytes]:
        """An empty array has no dimensions, so it is the 12 bytes of a shorter head."""
        raw = bytes(data)
        if len(raw) <= HEAD:
            return []
        size = LENGTH.size + LENGTH.unpack_from(raw, ARRAY.size)[0]
        start = HEAD + HALFVEC.size
        return [swapped(raw[at : at + size - 8]) for at in range(start, len(raw), size)]


class MicrosecondsLoader(Loader):
    """`timestamptz` → microseconds since 1970."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        """From PostgreSQL's own count since 2000."""
        return int.from_bytes(data, "big", signed=True) + EPOCH_MICROSECONDS


def swapped(data: bytes) -> bytes:
    """16-bit values from network order to little-endian or back: the same move."""
    values = array("H", data)
    values.byteswap()
    return values.tobytes()


def int8(value: int) -> Wire:
    """A bigint, whatever its size: psycopg would choose the type by the value."""
    return Wire(INT8, BIGINT.pack(value))


def int4(value: int) -> Wire:
    """An integer."""
    return Wire(INT4, LENGTH.pack(value))


def double(value: float | None) -> Wire:
    """A double precision, or null."""
    return Wire(FLOAT8, None if value is None else DOUBLE.pack(value))


def moment(value: int | None) -> Wire:
    """A timestamptz from microseconds since 1970, or null."""
    return Wire(TIMESTAMPTZ, None if value is None else BIGINT.pack(value - EPOCH_MICROSECONDS))


def integers(values: Sequence[int]) -> Wire:
    """An integer[]."""
    return Wire(INT4S, number_array(INT4, "i", values))


def reals(values: npt.NDArray[np.float32] | None) -> Wire:
    """A real[], or null."""
    return Wire(FLOAT4S, None if values is None else number_array(FLOAT4, "f", values))


def boolean(value: bool) -> Wire:
    """A truth value."""
    return Wire(BOOL, b"\x01" if value else b"\x00")


def uuid(value: bytes) -> Wire:
    """A uuid of 16 bytes."""
    return Wire(UUID, value)


def text(value: str | None) -> Wire:
    """A text, or null."""
    return Wire(TEXT, None if value is None else value.encode())


def jsonb(document: bytes) -> Wire:
    """A jsonb of JSON text."""
    return Wire(JSONB, JSON_VERSION + document)


def jsonpath(path: str) -> Wire:
    """A path."""
    return Wire(JSONPATH, JSON_VERSION + path.encode())


def texts(values: Sequence[str] | None) -> Wire:
    """A text[], or null."""
    return Wire(TEXTS, None if values is None else text_array(values))


def booleans(values: Sequence[bool]) -> Wire:
    """A boolean[]."""
    return Wire(BOOLS, array_of(BOOL, [sized(b"\x01" if value else b"\x00") for value in values]))


def uuids(values: Sequence[bytes]) -> Wire:
    """A uuid[] of 16 bytes each."""
    return Wire(UUIDS, array_of(UUID, [UUID_LENGTH + value for value in values]))


def text_array(values: Sequence[str]) -> bytes:
    """The binary form of a text[]."""
    return array_of(TEXT, [sized(value.encode()) for value in values])


def number_array(oid: int, code: str, values: Sequence[int] | npt.NDArray[np.float32]) -> bytes:
    """The binary form of an int2[] (`code` "h"), int4[] ("i") or float4[] ("f"): each value behind its size."""
    element = ELEMENTS[code]
    body = np.empty(len(values), element)
    body["size"], body["value"] = element["value"].itemsize, values
    return ARRAY.pack(1, 0, oid, len(values), 1) + body.tobytes()


def halfvec_element(vector: bytes) -> bytes:
    """One element of a halfvec[] from little-endian f16 bytes."""
    body = swapped(vector) if byteorder == "little" else vector
    return LENGTH.pack(len(vector) + HALFVEC.size) + HALFVEC.pack(len(vector) // 2, 0) + body


def sized(data: bytes) -> bytes:
    """Bytes behind their length."""
    return LENGTH.pack(len(data)) + data


def field(oid: int, data: bytes | None) -> bytes:
    """One field of a composite value."""
    return FIELD.pack(oid, -1) if data is None else FIELD.pack(oid, len(data)) + data


def timestamptz(moment: datetime) -> bytes:
    """The binary form of an aware time."""
    return BIGINT.pack(microseconds(moment) - EPOCH_MICROSECONDS)


def array_of(oid: int, elements: Sequence[bytes]) -> bytes:
    """An array from elements that carry their lengths already."""
    return ARRAY.pack(1, 0, oid, len(elements), 1) + b"".join(elements)
