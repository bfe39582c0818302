"""The store's streams value by value, both ways: what the native loader must take them for."""

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from memex.model import IndexRow
from memex.store.reads import Changes

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
EPOCH = 946_684_800_000_000

Fields = list[bytes | None]


async def everything(changes: Changes) -> dict[bytes, IndexRow]:
    """All rows of a snapshot by id."""
    beginning = list(await changes.beginning())
    return {row.id: row for row in beginning + rows(await joined(changes.streams()))}


async def joined(pieces: AsyncIterator[bytes]) -> bytes:
    """One piece of all."""
    return b"".join([piece async for piece in pieces])


def rows(data: bytes) -> list[IndexRow]:
    """The rows of pairs of streams."""
    found: dict[bytes, Fields] = {}
    vectors: dict[bytes, list[bytes]] = {}
    for number, stream in enumerate(streams(data)):
        for fields in stream:
            key = fields[0]
            assert key is not None
            if number % 2 == 0:
                found[key], vectors[key] = fields, []
            else:
                assert fields[1] is not None
                vectors[key].append(swapped(fields[1][4:]))
    return [index_row(fields, vectors[key]) for key, fields in found.items()]


def streams(data: bytes) -> Iterator[list[Fields]]:
    """Stream by stream, row by row, field by field."""
    at = 0
    while at < len(data):
        assert data[at : at + len(HEADER)] == HEADER
        at += len(HEADER)
        stream = []
        while (count := struct.unpack_from(">h", data, at)[0]) >= 0:
            fields, at = fields_of(data, at + 2, count)
            stream.append(fields)
        at += 2
        yield stream


def fields_of(data: bytes, at: int, count: int) -> tuple[Fields, int]:
    """So many fields, each behind its length, and where they end."""
    fields: Fields = []
    for _ in range(count):
        (length,) = struct.unpack_from(">i", data, at)
        at += 4
        fields.append(None if length < 0 else data[at : at + length])
        at += max(length, 0)
    return fields, at


def index_row(fields: Fields, vectors: list[bytes]) -> IndexRow:
    """A memory with its vectors."""
    (
        id_, agent, kind, visibility, state, tags, session, source, digest, importance, created, expires, terms, counts
    ) = fields  # fmt: skip
    return IndexRow(
        sure(id_),
        sure(agent).decode(),
        sure(kind).decode(),
        sure(visibility).decode(),
        sure(state).decode(),
        [tag.decode() for tag in elements(tags)],
        None if session is None else session.decode(),
        None if source is None else source.decode(),
        sure(digest),
        struct.unpack(">d", sure(importance))[0],
        moment(sure(created)),
        None if expires is None else moment(expires),
        [struct.unpack(">i", term)[0] for term in elements(terms)],
        [struct.unpack(">h", count)[0] for count in elements(counts)],
        vectors,
    )


def sure(field: bytes | None) -> bytes:
    """A field that is never NULL."""
    assert field is not None
    return field


def moment(field: bytes) -> int:
    """Microseconds since 1970."""
    return int(struct.unpack(">q", field)[0]) + EPOCH


def elements(field: bytes | None) -> list[bytes]:
    """The elements of an array of one dimension."""
    array = sure(field)
    if struct.unpack_from(">i", array) == (0,):
        return []
    fields, end = fields_of(array, 20, struct.unpack_from(">i", array, 12)[0])
    assert end == len(array)
    return [sure(element) for element in fields]


def swapped(halves: bytes) -> bytes:
    """Big-endian to little-endian."""
    return b"".join(halves[at : at + 2][::-1] for at in range(0, len(halves), 2))


def pair(rows: Sequence[IndexRow]) -> bytes:
    """The two streams of rows that come by ascending id."""
    vectors = [(row.id, halfvec(vector)) for row in rows for vector in row.vectors]
    return stream(map(memory, rows)) + stream(vectors)


def memory(row: IndexRow) -> Fields:
    """The fields of a memory."""
    return [
        row.id,
        *(name.encode() for name in (row.agent_id, row.memory_type, row.visibility, row.state)),
        array(25, [tag.encode() for tag in row.tags]),
        None if row.session_id is None else row.session_id.encode(),
        None if row.source is None else row.source.encode(),
        row.content_hash,
        struct.pack(">d", row.importance),
        struct.pack(">q", row.created_at - EPOCH),
        None if row.expires_at is None else struct.pack(">q", row.expires_at - EPOCH),
        array(23, [struct.pack(">i", term) for term in row.terms]),
        array(21, [struct.pack(">h", count) for count in row.term_counts]),
    ]


def stream(rows: Iterable[Sequence[bytes | None]]) -> bytes:
    """A header, rows, an end."""
    return HEADER + b"".join(struct.pack(">h", len(row)) + together(row) for row in rows) + struct.pack(">h", -1)


def together(fields: Sequence[bytes | None]) -> bytes:
    """Fields behind their lengths."""
    return b"".join(struct.pack(">i", -1) if f is None else struct.pack(">i", len(f)) + f for f in fields)


def array(oid: int, values: Sequence[bytes]) -> bytes:
    """An array of one dimension, or of none where it is empty."""
    head = (1, 0, oid, len(values), 1) if values else (0, 0, oid)
    return struct.pack(f">{len(head)}i", *head) + together(values)


def halfvec(vector: bytes) -> bytes:
    """From little-endian f16."""
    return struct.pack(">hh", len(vector) // 2, 0) + swapped(vector)
