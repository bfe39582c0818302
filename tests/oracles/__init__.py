"""Slow, plain versions of what must be exactly right, written apart from the code that they judge."""
