"""memex: fast, exact, durable long-term memory for AI agents."""
