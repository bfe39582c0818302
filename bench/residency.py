"""How long a large space takes into memory, what it takes there, and when another process sees a write.

python -m bench.residency
"""

import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from bench.load.answers import hits_of
from bench.load.client import Connection, call
from bench.load.tenants import Rows, Tenant, seed_by_store, tenants
from bench.machine import release_build
from bench.noise import watched
from bench.results import Result, record
from bench.services.memex import memex
from bench.services.running import Running

SEARCH, STORE = "/v1/memories/search", "/v1/memories"
SMALL = Tenant("load-agent-small", "load-tenant-small", 5)
QUESTION = "where is the harbour"


@click.command()
@click.option("--rows", type=click.Choice(["1000", "10000", "100000"]), default="100000", show_default=True)
@click.option("--loads", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--writes", type=click.IntRange(min=1), default=200, show_default=True)
def main(rows: str, loads: int, writes: int) -> None:
    """Seconds of a load, bytes a row, other searches during it, and a write's way into another process's search."""
    release_build()
    with watched() as noise, tempfile.TemporaryDirectory(prefix="memex-bench-") as folder:
        large = tenants(Rows(rows))[0]
        with memex(Path(folder)) as running:
            asyncio.run(seed_by_store(running.home, [large, SMALL]))
        each = [(load(Path(folder), large), load(Path(folder), large, crowd=True)) for _ in range(loads)]
        seen = {"small": SMALL, f"{large.rows} rows": large}
        figures = summary(each, large.rows) | {"write_to_search": visibility(Path(folder), seen, writes)}
    settings = {"rows": large.rows, "loads": loads, "writes": writes}
    warm_up = "the service is new before each load; PostgreSQL has the rows in its cache"
    record(Result("residency", f"memex-{large.rows}", figures, settings, warm_up, [noise]))


def load(home: Path, large: Tenant, *, crowd: bool = False) -> dict[str, float]:
    """A fresh service, whose first search of the large space loads it; in a `crowd` another searches a small one."""
    with memex(home) as running:
        return asyncio.run(loaded(running, large, crowd=crowd))


async def loaded(running: Running, large: Tenant, *, crowd: bool) -> dict[str, float]:
    """Figures of one load."""
    async with await Connection.open(running.url) as connection, await Connection.open(running.url) as other:
        await search(other, SMALL)  # loads the small space, and embeds the question
        before, cpu, over = await metrics(connection), running.cpu(), asyncio.Event()
        watching = asyncio.create_task(searches(other, SMALL, over)) if crowd else None
        first = await search(connection, large)
        used, after = running.cpu().since(cpu), await metrics(connection)
        over.set()
        waits = await watching if watching else []
        seconds = after["memex_index_load_duration_seconds_sum"] - before["memex_index_load_duration_seconds_sum"]
        size = after["memex_index_resident_bytes"] - before["memex_index_resident_bytes"]
        again = [await search(connection, large) for _ in range(5)]
    cpu_seconds = {"cpu_s_service": used.service, "cpu_s_postgres": used.postgres}
    others = {"others_p50_ms": 1000 * statistics.median(waits), "others_max_ms": 1000 * max(waits)} if waits else {}
    times = {"load_s": seconds, "first_search_s": first, "next_search_ms": 1000 * min(again)}
    return {name: round(value, 3) for name, value in (times | cpu_seconds | others | {"bytes": size}).items()}


async def search(connection: Connection, tenant: Tenant) -> float:
    """Seconds of one search that finds something."""
    begin = time.perf_counter()
    found = await call(connection, SEARCH, body(tenant) | {"query": QUESTION, "top_k": 5})
    assert found["results"]
    return time.perf_counter() - begin


async def searches(connection: Connection, tenant: Tenant, over: asyncio.Event) -> list[float]:
    """Seconds of searches one after the other until it is over."""
    seconds = []
    while not over.is_set():
        seconds.append(await search(connection, tenant))
    return seconds


def body(tenant: Tenant) -> dict[str, Any]:
    """Who asks."""
    return {"agent_id": tenant.agent_id, "user_id": tenant.user_id}


async def metrics(connection: Connection) -> dict[str, float]:
    """Every metric without labels."""
    _, text = await connection.get("/metrics")
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text.decode(), re.MULTILINE)}


def visibility(home: Path, seen: dict[str, Tenant], writes: int) -> dict[str, Any]:
    """Two services over one database: one writes, the other searches as soon as the write is answered."""
    with memex(home) as writer, memex(home) as reader:
        return {name: asyncio.run(visible(writer, reader, tenant, writes)) for name, tenant in seen.items()}


async def visible(writer: Running, reader: Running, tenant: Tenant, writes: int) -> dict[str, float]:
    """Milliseconds from a write's answer to the answer of the other's search, and how many were in the first one."""
    waits, found = [], 0
    async with await Connection.open(writer.url) as writing, await Connection.open(reader.url) as reading:
        await search(reading, tenant)
        for number in range(writes):
            content = f"beacon{number} of {tenant.user_id}"
            memory = await call(writing, STORE, body(tenant) | {"content": content})
            question = body(tenant) | {"query": f"beacon{number}", "mode": "keyword", "alpha": 1, "top_k": 1}
            begin = time.perf_counter()
            answer = await call(reading, SEARCH, question)
            waits.append(1000 * (time.perf_counter() - begin))
            found += [hit.id for hit in hits_of(question, msgspec.json.encode(answer))] == [memory["id"]]
    p50, p99 = (round(float(np.quantile(waits, share)), 3) for share in (0.5, 0.99))
    return {"writes": writes, "in_the_next_search": found, "p50_ms": p50, "p99_ms": p99}


def summary(each: Sequence[tuple[dict[str, float], dict[str, float]]], rows: int) -> dict[str, Any]:
    """The middle of each figure of the loads alone and of those among searches, and all of them."""
    alone, among = ([pair[place] for pair in each] for place in (0, 1))
    size = statistics.median(one["bytes"] for one in alone)
    return {"alone": middle(alone), "among_searches": middle(among), "bytes_per_row": round(size / rows)}


def middle(loads: list[dict[str, float]]) -> dict[str, Any]:
    """Medians by name, and what they are of."""
    found = {f"{name}_median": round(statistics.median(one[name] for one in loads), 3) for name in loads[0]}
    return found | {"loads": loads}


if __name__ == "__main__":
    main()
