"""Who may read what. The one place where a `Scope` is made."""

from memex.model import Scope

DEFAULT_TENANT = "default"


def scope(agent_id: str, tenant_id: str = DEFAULT_TENANT) -> Scope:
    """The caller's scope: an agent reads its own memories."""
    return Scope(tenant_id=tenant_id, agent_id=agent_id, readable=(agent_id,))
