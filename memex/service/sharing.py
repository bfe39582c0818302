"""Who may read what. The one place where a `Scope` is made."""

from collections.abc import Sequence
from typing import Literal

from memex.model import Scope

DEFAULT_TENANT = "default"


def scope(agent_id: str, tenant_id: str = DEFAULT_TENANT, *, agents: Sequence[str] | Literal["*"] = ()) -> Scope:
    """The caller's scope: its own memories and, of those `agents`, what they share; "*" is of every agent."""
    return Scope(tenant_id=tenant_id, agent_id=agent_id, others=None if agents == "*" else tuple(agents))


def reading(agent_id: str, user_id: str | None, tenant_id: str = DEFAULT_TENANT) -> Scope:
    """All that the caller may read of a user, for routes that show a memory by id: its own, and what anybody shares.

    Who does not say of which user reads its own alone: what is shared is shared among the agents of one user.
    """
    return scope(agent_id, tenant_id, agents=() if user_id is None else "*")
