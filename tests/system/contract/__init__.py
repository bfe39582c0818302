"""How schemathesis asks a running service: its settings, and what it does not know by itself."""
