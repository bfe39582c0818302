"""Conditions that narrow memories down, as statements take them."""

import msgspec

from memex.model import MemoryType, Ranking
from memex.store import wire


class Narrowed(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that all hold; None is no condition. Times are microseconds since 1970."""

    types: tuple[MemoryType, ...] | None = None
    created_after: int | None = None
    """Inclusive."""
    created_before: int | None = None
    """Exclusive."""
    tags_any: tuple[str, ...] | None = None
    tags_all: tuple[str, ...] | None = None
    session_id: str | None = None
    source: str | None = None


def parameters(conditions: Narrowed | Ranking) -> tuple[wire.Wire, ...]:
    """The parameters of `parts/narrowed.sql` and `parts/passing.sql`, in the order in which both name them."""
    return (
        wire.texts(conditions.types),
        wire.moment(conditions.created_after),
        wire.moment(conditions.created_before),
        wire.texts(conditions.tags_any),
        wire.texts(conditions.tags_all),
        wire.text(conditions.session_id),
        wire.text(conditions.source),
    )
