"""Benchmarks: speed, retrieval quality and micro-benchmarks; see README.md."""
