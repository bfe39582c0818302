"""Versions in headers: ETag in answers, If-Match and If-None-Match in requests (RFC 9110, sections 8.8.3 and 13.1)."""

import re
from collections.abc import Container, Iterable
from typing import Any

from memex.api.replies import Header
from memex.model import Memory
from memex.reading.faults import Faults

TAGGED: dict[str, dict[str, Any]] = {"ETag": {"description": "The version, in quotes.", "schema": {"type": "string"}}}
"""The header of an answer that shows a memory."""
MATCH: dict[str, dict[str, Any]] = {
    "If-Match": {
        "type": "string",
        "description": 'The versions that the memory may have, as ETag gave them: `"3"`, several, or `*` for any.',
    }
}
NONE_MATCH: dict[str, dict[str, Any]] = {
    "If-None-Match": {
        "type": "string",
        "description": "The versions that the caller has: 304 without a body if the memory is in one of them.",
    }
}

ANY = "*"
EVERY = range(1, 2**31)
TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
TAGS = re.compile(rf"[\t ,]*{TAG}(?:[\t ]*,[\t ,]*{TAG})*[\t ,]*")
NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
"""A version as ETag writes it; a longer number never was one."""

Headers = Iterable[tuple[bytes, bytes]]


def etag(memory: Memory) -> Header:
    """The version of a memory, as a strong validator."""
    return (b"etag", b'"%d"' % memory.version)


def wanted(headers: Headers, faults: Faults) -> tuple[int, ...] | None:
    """The versions of If-Match, None for any. It compares strongly: what is marked as weak is none of them."""
    written = joined(headers, b"if-match")
    if written is None or written == ANY:
        return None
    return tuple(version for version, weak in tags("if-match", written, faults) if not weak)


def held(headers: Headers, faults: Faults) -> Container[int]:
    """The versions of If-None-Match, which compares weakly."""
    written = joined(headers, b"if-none-match")
    if written is None:
        return ()
    return EVERY if written == ANY else {version for version, _ in tags("if-none-match", written, faults)}


def joined(headers: Headers, name: bytes) -> str | None:
    """The values of a header as one list, None where there is none."""
    found = [value.decode("latin-1") for key, value in headers if key == name]
    return ", ".join(found).strip("\t ") if found else None


def tags(name: str, written: str, faults: Faults) -> list[tuple[int, bool]]:
    """Each tag that may be one of ours as its version, and whether it is marked as weak."""
    if not TAGS.fullmatch(written):
        faults.refuse(("header", name), 'give versions in quotes, as "3", or *', written)
        return []
    return [(int(tag), bool(weak)) for weak, tag in re.findall(TAG, written) if NUMBER.fullmatch(tag)]
