"""The services that a load can be put on, by name."""

from contextlib import AbstractContextManager

import click

from bench.load.workload import Texts
from bench.services.memex import memex
from bench.services.reference import reference
from bench.services.running import Running

SUBJECTS = ("memex", "reference")

# Options of the commands that put a load on one of them.
texts_option = click.option("--texts", type=click.Choice([kind.value for kind in Texts]), required=True)
service_option = click.option("--service", type=click.Choice(SUBJECTS), default="memex", show_default=True)
workers_option = click.option("--workers", type=int, help="Processes of the service [default: the service's own]")


def started(name: str, workers: int | None = None) -> AbstractContextManager[Running]:
    """The service of that name, on fresh data; `workers` is how many processes serve, None as many as it has itself."""
    if name == "reference":
        return reference(workers=workers) if workers else reference()
    return memex(settings={"WORKERS": str(workers)} if workers else None)
