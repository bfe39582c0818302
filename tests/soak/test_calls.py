"""Thousands of calls leave a process as large as the first hundreds did, through both surfaces."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.behaviour.asking import ANA
from tests.behaviour.manifest import proves
from tests.behaviour.surfaces import SURFACES, calls, routed
from tests.fixtures.process import Process
from tests.system.test_long_content import rss

BOUND = 20 * 2**20
# A cache that grows until it is full is no leak; here it is full soon.
FULL_SOON = {
    "MEMEX_EMBEDDING_CACHE_BYTES": "200000",
    "RATE_LIMIT_WRITES_PER_MINUTE": "0",
    "RATE_LIMIT_SEARCHES_PER_MINUTE": "0",
}


class Caller:
    """One connection, and one session where there are any."""

    def __init__(self, client: httpx.Client, surface: str) -> None:
        self.client = client
        self.rest = surface == "rest"
        self.numbers = itertools.count()

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.request(**routed(name, arguments)) if self.rest else self._tool(name, arguments)
        assert answer.status_code < 300, answer.text
        body: dict[str, Any] = answer.json() if answer.content else {}
        assert self.rest or body["result"]["isError"] is False, body
        return body if self.rest else body["result"]["structuredContent"]

    def _tool(self, name: str, arguments: dict[str, Any]) -> httpx.Response:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": next(self.numbers), "method": "tools/call", "params": params}
        return self.client.post("/mcp", json=message, headers={"mcp-session-id": "the-one"})

    def round(self, number: int) -> Iterator[dict[str, Any]]:
        """Every tool once; what is stored is deleted in the end."""
        text = f"note {number} of many"
        memory = self.call("store_memory", ANA | {"content": text})
        for name, arguments in calls(memory["id"]).items():
            if name != "store_memory":
                yield self.call(name, arguments | ({"query": text} if "query" in arguments else {}))


def grown(serve: Callable[..., Process], surface: str, first: int, all_: int) -> int:
    """Bytes that a service has grown by from its `first` calls to `all_` of them."""
    service = serve(**FULL_SOON).ready()
    with service.client() as client:
        caller, rounds = Caller(client, surface), itertools.count()
        made = itertools.chain.from_iterable(caller.round(number) for number in rounds)
        made_first = sum(1 for _ in itertools.islice(made, first))
        before = rss(service.workers())
        made_rest = sum(1 for _ in itertools.islice(made, all_ - first))
        assert (made_first, made_rest) == (first, all_ - first)
        after = rss(service.workers())
    assert service.stop() == 0
    return after - before


@proves("memory.flat")
@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("surface", [SURFACES[0], SURFACES[-1]])
def test_ten_thousand_calls_leave_the_process_as_the_first_two_thousand(serve: Callable[..., Process], surface: str):
    assert grown(serve, surface, 2_000, 10_000) < BOUND
