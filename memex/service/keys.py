"""Keys by which callers repeat requests."""

import hashlib
from typing import Any

import msgspec

from memex.store import RequestKey

encode = msgspec.json.Encoder(order="deterministic").encode


def request_key(route: str, key: str | None, *asked: msgspec.Struct) -> RequestKey | None:
    """The key of a request of `route` that asks for `asked`; None where the caller gave no `key`."""
    if key is None:
        return None
    return RequestKey(route, key, hashlib.sha256(encode([said(part) for part in asked])).digest())


def said(part: msgspec.Struct) -> dict[str, Any]:
    """The fields of a request that are not as if they were left out.

    So a field of a later memex does not make another request of one that does not name it.
    """
    values = ((field, getattr(part, field.name)) for field in msgspec.structs.fields(part))
    return {field.name: value for field, value in values if value != left_out(field)}


def left_out(field: msgspec.structs.FieldInfo) -> Any:
    """What stands for a field that is not named."""
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()
