"""A running memory service, spoken to in its dialect."""

import asyncio
import secrets
import time

import httpx
import msgspec

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Dialect, Hit, Traits, WrongAnswer

CONNECTIONS = 8
PATIENCE = 120.0
BUSY = (429, 503)
"""Statuses of a service that has done nothing and wants to be asked again."""


def connect(url: str, traits: Traits, key: str) -> httpx.AsyncClient:
    """Connections to the service at `url`, with its API key unless that is empty."""
    value = f"Bearer {key}" if traits.key_header == "Authorization" else key
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    headers = {traits.key_header: value} if key else {}
    return httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=PATIENCE, trust_env=False)


class Service:
    """Stores and searches. Users get a suffix of their own for each run, so that earlier runs are not found."""

    def __init__(self, client: httpx.AsyncClient, dialect: Dialect):
        """`client` knows the address; it is closed by whoever made it."""
        self.refused = 0
        """How often the service was too busy and was asked again."""
        self._client = client
        self._dialect = dialect
        self._suffix = secrets.token_hex(4)

    @property
    def traits(self) -> Traits:
        """What the service can do."""
        return self._dialect.traits

    async def store(self, memory: Memory) -> str:
        """The id that searches will name it by."""
        call = self._dialect.store(msgspec.structs.replace(memory, user=self._own(memory.user)))
        return self._dialect.stored_id(await self._post(call), call.body)

    async def search(self, user: str, text: str, k: int, mode: str) -> list[Hit]:
        """What is given for the best `k`, best first."""
        call = self._dialect.search(self._own(user), text, k, mode)
        return self._dialect.hits(await self._post(call))

    def shape(self, k: int, mode: str) -> Call:
        """How a search looks, with the names of what differs between searches."""
        return self._dialect.search("USER", "QUESTION", k, mode)

    def _own(self, user: str) -> str:
        return f"{user}-{self._suffix}"

    async def _post(self, call: Call) -> Body:
        """The decoded answer. A busy service is asked again; anything else but a 2xx ends the measurement."""
        end = time.perf_counter() + PATIENCE
        while (response := await self._once(call)).status_code in BUSY and time.perf_counter() < end:
            self.refused += 1
            await asyncio.sleep(pause(response))
        if not response.is_success:
            raise WrongAnswer(f"POST {call.path} gave {response.status_code}: {response.text[:300]}")
        return msgspec.json.decode(response.content, type=Body)

    async def _once(self, call: Call) -> httpx.Response:
        try:
            return await self._client.post(call.path, json=call.body)
        except httpx.TransportError as error:
            raise WrongAnswer(f"POST {call.path} failed: {type(error).__name__} {error}") from error


def pause(response: httpx.Response) -> float:
    """Seconds that a busy service asks for, else one."""
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else 1.0
