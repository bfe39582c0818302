"""Retrieval quality: measures, data sets, services and whole runs."""
