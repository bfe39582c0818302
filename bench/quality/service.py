"""A running memory service, spoken to in its dialect."""

import asyncio
import secrets
import time
from types import TracebackType
from typing import Self

import httpx
import msgspec

from bench.quality.dataset import Memory
from bench.quality.services.dialect import Body, Call, Dialect, Hit, Traits, WrongAnswer

CONNECTIONS = 8
PATIENCE = 120.0
BUSY = (429, 503)
"""Statuses of a service that has done nothing and wants to be asked again."""


class Service:
    """Stores and searches. Users get a suffix of their own for each run, so that earlier runs are not found."""

    def __init__(self, url: str, dialect: Dialect, key: str = ""):
        """`url` is where the service's routes begin; `key` is sent where the service takes API keys."""
        header = dialect.traits.key_header
        value = f"Bearer {key}" if header == "Authorization" else key
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        self.refused = 0
        """How often the service was too busy and was asked again."""
        self._dialect = dialect
        self._suffix = secrets.token_hex(4)
        self._client = httpx.AsyncClient(
            base_url=url, headers={header: value} if key else {}, limits=limits, timeout=PATIENCE
        )

    @property
    def traits(self) -> Traits:
        """What the service can do."""
        return self._dialect.traits

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

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
