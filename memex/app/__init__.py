"""The composition root: the only place that reads the environment and constructs the service."""
