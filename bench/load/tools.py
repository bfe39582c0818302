"""Searches by MCP beside the same ones over REST, and what many calls leave in memory.

python -m bench.load.tools
"""

import asyncio
import time
from itertools import cycle, islice
from typing import Any

import click
import msgspec
import uvloop

from bench.load.answers import WrongAnswer
from bench.load.client import JSON, Connection
from bench.load.seeding import seed
from bench.load.subjects import started
from bench.load.workload import Texts, searches
from bench.machine import release_build
from bench.noise import Noise, watched
from bench.pairs import LEAST_PAIRS, Figures, medians, ratios
from bench.results import Result, record
from bench.services.running import Running
from memex.embedder.chunks import open_tokenizer
from memex.embedder.models import open_model

CURRENT, HANDSHAKE = "2026-07-28", "2025-06-18"
META = {
    "io.modelcontextprotocol/protocolVersion": CURRENT,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = JSON | {"Accept": "application/json, text/event-stream"}
CONNECTIONS = 32
SETTLED, CALLED = 2_000, 10_000
"""Calls after which the memory is looked at."""

Request = tuple[str, bytes, dict[str, str]]
"""Path, body and headers."""


@click.command()
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=LEAST_PAIRS, show_default=True)
@click.option("--seconds", default=4.0, show_default=True, help="Of each block.")
def main(pairs: int, seconds: float) -> None:
    """Requests a second of 32 connections: REST, MCP of the current revision, MCP of one with a handshake, in turns."""
    release_build()
    noise: list[Noise] = []
    with started("memex") as running:
        blocks, calls_left = uvloop.run(measure(running, pairs, seconds, noise))
    others = {name: ratios([(block[name], block["rest"]) for block in blocks]) for name in ("current", "handshake")}
    figures = {name: medians([block[name] for block in blocks]) for name in blocks[0]}
    by_rest = {name: msgspec.to_builtins(found["requests_per_second"]) for name, found in others.items()}
    settings = {"pairs": pairs, "seconds": seconds, "connections": CONNECTIONS}
    whole = {"doors": figures, "requests_by_rest": by_rest, "calls": calls_left}
    record(Result("tools", "memex", whole, settings, "one block of each", noise))


async def measure(running: Running, pairs: int, seconds: float, noise: list[Noise]) -> Any:
    """The blocks in turns, and memory in MiB after so many calls."""
    await seed(running.url)
    doors = {"rest": rest(), "current": calls(current), "handshake": calls(handshake)}
    for requests in doors.values():
        await block(running, requests, seconds)
    with watched() as seen:
        blocks = [{name: await block(running, asked, seconds) for name, asked in doors.items()} for _ in range(pairs)]
    noise.append(seen)
    return blocks, await left(doors["current"] + doors["handshake"])


async def left(requests: list[Request]) -> dict[str, float]:
    """Of a service of its own: MiB of all its processes after 2,000 and after 10,000 calls; tokens of its tools."""
    with started("memex") as running:
        await seed(running.url)
        await ask(running, requests, islice(cycle(requests), SETTLED))
        settled = resident(running)
        await ask(running, requests, islice(cycle(requests), CALLED - SETTLED))
        called, told = resident(running), await tokens(running)
    return {
        "tools_list_tokens": told,
        "settled_mib": settled,
        "called_mib": called,
        "grown_mib": round(called - settled, 1),
    }


def resident(running: Running) -> float:
    """MiB of the service's processes."""
    taken = sum(int(process.memory_info().rss) for process in running.service_processes())
    return round(taken / 2**20, 1)


async def block(running: Running, requests: list[Request], seconds: float) -> Figures:
    """Requests a second, and the service's CPU time of each."""
    before, end = running.cpu(), time.perf_counter() + seconds
    begin = time.perf_counter()
    done = await ask(running, requests, iter(lambda: time.perf_counter() < end, False))
    used = running.cpu().since(before).per(done)
    return {"requests_per_second": round(done / (time.perf_counter() - begin), 1), "cpu_ms": used["both"]}


async def ask(running: Running, requests: list[Request], turns: Any) -> int:
    """One request for each turn, over all connections; every answer has hits."""
    waiting, done = iter(turns), 0

    async def caller(number: int) -> None:
        nonlocal done
        async with await Connection.open(running.url) as connection:
            for path, body, headers in islice(cycle(requests), number, None):
                if next(waiting, None) is None:
                    return
                status, answer = await connection.post(path, body, headers)
                if status != 200 or b"score" not in answer or b'"isError":true' in answer:
                    raise WrongAnswer(f"{path} gave {status}: {answer[:200]!r}")
                done += 1

    await asyncio.gather(*(caller(number) for number in range(CONNECTIONS)))
    return done


async def tokens(running: Running) -> int:
    """What the answer to `tools/list` takes of a model's context, by the packaged model's tokenizer."""
    listing = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    async with await Connection.open(running.url) as connection:
        _, answer = await connection.post("/mcp", listing, ACCEPT | {"MCP-Protocol-Version": HANDSHAKE})
    return len(open_tokenizer(open_model("e5-small-v2").tokenizer).encode(answer.decode()).ids)


def asked() -> list[dict[str, Any]]:
    """The arguments of searches, those of the reference's load test, for several agents and users."""
    return [body for number in range(CONNECTIONS) for body in islice(searches(Texts.REPEATED, number), 8)]


def rest() -> list[Request]:
    """The searches over REST."""
    return [("/v1/memories/search", msgspec.json.encode(body), JSON) for body in asked()]


def calls(ask: Any) -> list[Request]:
    """The same as calls of the tool."""
    return [ask({"name": "search_memories", "arguments": body}) for body in asked()]


def current(params: dict[str, Any]) -> Request:
    """A call of the current revision of the protocol."""
    named = {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "tools/call", "Mcp-Name": params["name"]}
    return "/mcp", message(params | {"_meta": META}), ACCEPT | named


def handshake(params: dict[str, Any]) -> Request:
    """A call of an earlier one, whose session a stateless service does not look at."""
    return "/mcp", message(params), ACCEPT | {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": "bench"}


def message(params: dict[str, Any]) -> bytes:
    """JSON-RPC."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


if __name__ == "__main__":
    main()
