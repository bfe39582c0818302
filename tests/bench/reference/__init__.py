"""The re-created request path of the earlier service."""
