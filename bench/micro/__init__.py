"""Micro-benchmarks of the native module beside other ways to compute the same. Run with `make bench`."""
