"""Retrieval quality through a running service, on data sets given by path."""
