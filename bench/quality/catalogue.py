"""The services that can be measured, by name, and how those that are ours start."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from bench.quality.services.dialect import Dialect
from bench.quality.services.hindsight import Hindsight
from bench.quality.services.mcp_memory import McpMemory
from bench.quality.services.mem0 import Mem0
from bench.quality.services.memex import Memex, Reference
from bench.quality.services.redis_memory import RedisMemory
from bench.services.memex import memex
from bench.services.reference import reference

DIALECTS: dict[str, Dialect] = {
    dialect.traits.name: dialect for dialect in (Memex(), Reference(), Mem0(), McpMemory(), RedisMemory(), Hindsight())
}


@contextmanager
def serving(name: str, url: str | None, settings: Mapping[str, str]) -> Iterator[str]:
    """The address of the service: `url` if there is one, else of a fresh one; `settings` are memex's environment."""
    if url:
        yield url
    elif name == "memex":
        with memex(settings=settings) as running:
            yield running.url
    elif name == "reference":
        with reference() as running:
            yield running.url
    else:
        raise click.UsageError(f"{name} is not started here: start it on empty data and give its --url")
