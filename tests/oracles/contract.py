"""What clients of the reference rely on, from its contract and from nothing else."""

FIRST_EIGHT = ["id", "agent_id", "user_id", "content", "importance", "memory_type", "created_at", "score"]
"""The fields of a memory that they know, which come first and in this order."""
