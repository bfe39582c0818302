"""Whose memories a call is about, as the service judges it.

The service is loaded by the first call, not with this module: the store, the index and the model come with it, and who
greets a client over stdio has them come up meanwhile.
"""

from memex.model import Scope


def scope(agent_id: str) -> Scope:
    """The caller's own memories."""
    from memex.service import scope as own  # noqa: PLC0415

    return own(agent_id)


def reading(agent_id: str, user_id: str | None) -> Scope:
    """All that the caller may read of a user by id."""
    from memex.service import reading as readable  # noqa: PLC0415

    return readable(agent_id, user_id)
