"""How each memory service is spoken to."""
