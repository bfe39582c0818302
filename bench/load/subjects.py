"""The services that a load can be put on, by name."""

from contextlib import AbstractContextManager

from bench.services.memex import memex
from bench.services.reference import reference
from bench.services.running import Running

SUBJECTS = ("memex", "reference")


def started(name: str, workers: int | None = None) -> AbstractContextManager[Running]:
    """The service of that name, on fresh data; `workers` is how many processes serve, None as many as it has itself."""
    if name == "reference":
        return reference(workers=workers) if workers else reference()
    return memex(settings={"WORKERS": str(workers)} if workers else None)
